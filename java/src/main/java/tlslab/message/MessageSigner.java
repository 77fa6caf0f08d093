package tlslab.message;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.cert.X509Certificate;
import org.apache.xml.security.Init;
import org.apache.xml.security.algorithms.MessageDigestAlgorithm;
import org.apache.xml.security.c14n.Canonicalizer;
import org.apache.xml.security.exceptions.XMLSecurityException;
import org.apache.xml.security.keys.content.X509Data;
import org.apache.xml.security.parser.XMLParserException;
import org.apache.xml.security.signature.XMLSignature;
import org.apache.xml.security.transforms.Transforms;
import org.apache.xml.security.utils.Constants;
import org.apache.xml.security.utils.XMLUtils;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import tlslab.keys.ClientKey;

/**
 * Signs messages: an enveloped XML signature, exclusive canonicalisation, RSA with SHA-256, made
 * by Apache Santuario. One signer serves all threads.
 */
public final class MessageSigner {
    static {
        Init.init();
    }

    private final PrivateKey key;
    private final X509Certificate certificate;

    /** Signs with this key, and names its certificate by issuer and serial number. */
    public MessageSigner(ClientKey key) {
        this.key = key.privateKey;
        this.certificate = key.chain[0];
    }

    /** The message with its signature. */
    public byte[] sign(byte[] message) throws XMLSecurityException {
        Document document = parse(message);
        XMLSignature signature =
                new XMLSignature(
                        document,
                        "",
                        XMLSignature.ALGO_ID_SIGNATURE_RSA_SHA256,
                        Canonicalizer.ALGO_ID_C14N_EXCL_OMIT_COMMENTS);
        document.getDocumentElement().appendChild(signature.getElement());
        Transforms transforms = new Transforms(document);
        transforms.addTransform(Transforms.TRANSFORM_ENVELOPED_SIGNATURE);
        transforms.addTransform(Transforms.TRANSFORM_C14N_EXCL_OMIT_COMMENTS);
        signature.addDocument("", transforms, MessageDigestAlgorithm.ALGO_ID_DIGEST_SHA256);
        signature.getKeyInfo().add(name(document));
        signature.sign(key);
        ByteArrayOutputStream out = new ByteArrayOutputStream(4096);
        XMLUtils.outputDOM(document, out);
        return out.toByteArray();
    }

    private X509Data name(Document document) {
        X509Data data = new X509Data(document);
        data.addIssuerSerial(
                certificate.getIssuerX500Principal().getName(), certificate.getSerialNumber());
        return data;
    }

    /** Whether a signed message is as it was when a holder of the key signed it. */
    public static boolean verifies(byte[] signed, PublicKey key) throws XMLSecurityException {
        Document document = parse(signed);
        Element element =
                (Element)
                        document.getElementsByTagNameNS(Constants.SignatureSpecNS, "Signature")
                                .item(0);
        return new XMLSignature(element, "").checkSignatureValue(key);
    }

    private static Document parse(byte[] message) throws XMLParserException {
        return XMLUtils.read(new ByteArrayInputStream(message), true);
    }
}
