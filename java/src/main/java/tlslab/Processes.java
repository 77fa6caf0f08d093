package tlslab;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Processor time of other processes, read from {@code /proc}. */
final class Processes {
    private final List<Path> folders;

    private Processes(List<Path> folders) {
        this.folders = folders;
    }

    /** The processes with these ids, as {@code 12+34}; none for an empty text. */
    static Processes parse(String ids) {
        List<Path> folders = new ArrayList<>();
        for (String id : ids.split("\\+")) {
            if (!id.isBlank()) {
                folders.add(Path.of("/proc", Long.toString(Long.parseLong(id)), "task"));
            }
        }
        return new Processes(folders);
    }

    /** The time that all their threads have run; those that have ended count nothing. */
    long cpuNanos() {
        long nanos = 0;
        for (Path folder : folders) {
            try (DirectoryStream<Path> tasks = Files.newDirectoryStream(folder)) {
                for (Path task : tasks) {
                    nanos += ranNanos(task);
                }
            } catch (IOException error) {
                // The process has ended: the benchmark's own failures report that.
            }
        }
        return nanos;
    }

    private static long ranNanos(Path task) {
        try {
            String text = Files.readString(task.resolve("schedstat"));
            return Long.parseLong(text.substring(0, text.indexOf(' ')));
        } catch (IOException error) {
            return 0;
        }
    }
}
