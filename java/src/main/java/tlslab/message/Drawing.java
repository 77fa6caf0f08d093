package tlslab.message;

import java.nio.charset.StandardCharsets;
import java.util.SplittableRandom;

/**
 * Draws messages in the shape of an ISO 20022 credit transfer (pacs.008), of 1,024 bytes each; for
 * one thread. All that varies is random: nothing in a message is anybody's.
 */
public final class Drawing {
    /** The length of every message. */
    public static final int BYTES = 1024;

    private static final String DIGITS = "0123456789";
    private static final String LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789";
    private static final String END =
            "</Ustrd></RmtInf></CdtTrfTxInf></FIToFICstmrCdtTrf></Document></Envelope>";

    private final SplittableRandom random;
    private final StringBuilder text = new StringBuilder(BYTES);

    /** Messages that follow from a seed. */
    public Drawing(long seed) {
        random = new SplittableRandom(seed);
    }

    /** The next message, in UTF-8. */
    public byte[] draw() {
        text.setLength(0);
        String payer = pick(DIGITS, 8);
        String payee = pick(DIGITS, 8);
        add("<Envelope xmlns=\"urn:tlslab:envelope\"><Document ");
        add("xmlns=\"urn:iso:std:iso:20022:tech:xsd:pacs.008.001.08\"><FIToFICstmrCdtTrf>");
        add("<GrpHdr><MsgId>M", payer, pick(LETTERS, 23), "</MsgId><CreDtTm>", time());
        add("</CreDtTm><NbOfTxs>1</NbOfTxs><SttlmInf><SttlmMtd>CLRG</SttlmMtd></SttlmInf>");
        add("</GrpHdr><CdtTrfTxInf><PmtId><EndToEndId>E", payer, pick(LETTERS, 23));
        add("</EndToEndId></PmtId><IntrBkSttlmAmt Ccy=\"BRL\">", amount());
        add("</IntrBkSttlmAmt><ChrgBr>SLEV</ChrgBr><Dbtr><Nm>", pick(LETTERS, 24), "</Nm></Dbtr>");
        add("<DbtrAcct><Id><Othr><Id>", pick(DIGITS, 10), "</Id></Othr></Id></DbtrAcct>");
        add("<DbtrAgt><FinInstnId><ClrSysMmbId><MmbId>", payer);
        add("</MmbId></ClrSysMmbId></FinInstnId></DbtrAgt>");
        add("<CdtrAgt><FinInstnId><ClrSysMmbId><MmbId>", payee);
        add("</MmbId></ClrSysMmbId></FinInstnId></CdtrAgt><Cdtr><Nm>", pick(LETTERS, 24));
        add("</Nm></Cdtr><CdtrAcct><Id><Othr><Id>", pick(DIGITS, 10), "</Id></Othr></Id>");
        add("</CdtrAcct><RmtInf><Ustrd>");
        add(pick(LETTERS, BYTES - END.length() - text.length()), END);
        return text.toString().getBytes(StandardCharsets.US_ASCII);
    }

    private void add(String... parts) {
        for (String part : parts) {
            text.append(part);
        }
    }

    private String pick(String alphabet, int length) {
        char[] picked = new char[length];
        for (int i = 0; i < length; i++) {
            picked[i] = alphabet.charAt(random.nextInt(alphabet.length()));
        }
        return new String(picked);
    }

    private String amount() {
        return (1 + random.nextInt(9_999)) + "." + pick(DIGITS, 2);
    }

    private String time() {
        int second = random.nextInt(86_400);
        return String.format(
                "2024-01-%s%dT%s:%s:%s.%sZ",
                random.nextInt(2),
                1 + random.nextInt(9),
                two(second / 3600),
                two(second / 60 % 60),
                two(second % 60),
                pick(DIGITS, 3));
    }

    private static String two(int number) {
        return (number < 10 ? "0" : "") + number;
    }
}
