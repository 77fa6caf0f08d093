package tlslab.keys;

/** Puts a chain of exceptions into one line. */
public final class Reasons {
    private Reasons() {}

    /** The messages of an exception and its causes, the outermost first, none twice. */
    public static String of(Throwable error) {
        StringBuilder text = new StringBuilder();
        for (Throwable at = error; at != null; at = at.getCause()) {
            String message = at.getMessage() == null ? at.getClass().getSimpleName() : at.getMessage();
            if (text.indexOf(message) < 0) {
                text.append(text.length() == 0 ? "" : ": ").append(message);
            }
        }
        return text.toString();
    }
}
