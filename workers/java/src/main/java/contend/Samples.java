package contend;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/** The samples of one client, encoded immediately and stored until the run is over. */
final class Samples {
    static final int BYTES = 64;
    private static final long NOT_MEASURED = -1;
    private static final int CHUNK = 1 << 20;

    private final List<ByteBuffer> chunks = new ArrayList<>();
    private final int client;
    private ByteBuffer chunk;
    long count;

    Samples(long client) {
        this.client = (int) client;
        grow();
    }

    private void grow() {
        chunk = ByteBuffer.allocate(CHUNK).order(ByteOrder.LITTLE_ENDIAN);
        chunks.add(chunk);
    }

    void add(int operation, int transaction, int attempt, int failedStep, Failure failure, int flags, long rows,
            long due, long started, long finished, long acquire) {
        if (!chunk.hasRemaining()) {
            grow();
        }
        chunk.putInt(client).putInt(operation).putShort((short) transaction).putShort((short) attempt).putShort((short) failedStep);
        chunk.put((byte) (failure == null ? 0 : failure.space)).put((byte) flags).putInt(failure == null ? 0 : failure.code);
        chunk.putInt((int) rows).putLong(due).putLong(started).putLong(finished).putLong(NOT_MEASURED).putLong(acquire);
        count++;
    }

    /** Receives samples in place: a copy of all of them could exceed the memory. */
    interface Frames<E extends Exception> {
        void frame(byte[] bytes, int length) throws E;
    }

    /** Passes pieces of whole samples. */
    <E extends Exception> void frames(Frames<E> frames) throws E {
        for (ByteBuffer one : chunks) {
            if (one.position() > 0) {
                frames.frame(one.array(), one.position());
            }
        }
    }
}
