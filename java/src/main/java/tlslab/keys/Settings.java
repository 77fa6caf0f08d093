package tlslab.keys;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;

/**
 * The certificates and keys of a run: a properties file that {@code -Dtlslab.settings}
 * names, so that neither PIN nor token stands on a command line.
 *
 * <p>Keys of the file: {@code trust}, {@code server.certificate}, {@code server.key},
 * {@code client.certificate}, {@code client.key} (PEM files, keys in PKCS #8), and those of the key
 * stores: {@code pkcs11.*} and {@code cluster.*}.
 */
public final class Settings {
    /** The system property that names the file. */
    public static final String PROPERTY = "tlslab.settings";

    private final Properties properties;

    /** Settings of these properties. */
    public Settings(Properties properties) {
        this.properties = properties;
    }

    /** The settings that the system property names. */
    public static Settings load() {
        String file = System.getProperty(PROPERTY);
        if (file == null) {
            throw new IllegalStateException("-D" + PROPERTY + "=FILE is missing");
        }
        return read(Path.of(file));
    }

    /** The settings in a file. */
    public static Settings read(Path file) {
        Properties properties = new Properties();
        try (Reader reader = Files.newBufferedReader(file)) {
            properties.load(reader);
        } catch (IOException error) {
            throw new IllegalStateException("settings cannot be read: " + error, error);
        }
        return new Settings(properties);
    }

    /** The value of a key that must be there. */
    public String text(String key) {
        String value = properties.getProperty(key);
        if (value == null || value.isBlank()) {
            throw new IllegalStateException("the settings lack " + key);
        }
        return value.strip();
    }

    /** The value of a key, or else a default. */
    public String text(String key, String otherwise) {
        return properties.getProperty(key, otherwise).strip();
    }

    /** The whole number of a key, or else a default. */
    public int number(String key, int otherwise) {
        String value = properties.getProperty(key);
        try {
            return value == null ? otherwise : Integer.parseInt(value.strip());
        } catch (NumberFormatException error) {
            throw new IllegalStateException(key + " is not a whole number: " + value, error);
        }
    }
}
