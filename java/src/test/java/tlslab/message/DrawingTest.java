package tlslab.message;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayInputStream;
import java.util.HashSet;
import java.util.Set;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Document;

class DrawingTest {
    @Test
    void everyMessageHas1024BytesAndIsXml() throws Exception {
        DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
        factory.setNamespaceAware(true);
        Drawing drawing = new Drawing(7);
        for (int i = 0; i < 500; i++) {
            byte[] message = drawing.draw();
            assertEquals(Drawing.BYTES, message.length);
            Document document = factory.newDocumentBuilder().parse(new ByteArrayInputStream(message));
            assertEquals("Envelope", document.getDocumentElement().getLocalName());
            assertEquals(1, document.getElementsByTagNameNS("*", "CdtTrfTxInf").getLength());
        }
    }

    @Test
    void aSeedGivesTheSameMessagesAndNoTwoAreEqual() {
        Drawing one = new Drawing(1);
        Drawing same = new Drawing(1);
        Drawing other = new Drawing(2);
        Set<String> seen = new HashSet<>();
        for (int i = 0; i < 200; i++) {
            byte[] message = one.draw();
            assertArrayEquals(message, same.draw());
            seen.add(new String(message));
            seen.add(new String(other.draw()));
        }
        assertEquals(400, seen.size());
    }
}
