package contend;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.WritableByteChannel;
import javax.net.SocketFactory;

/**
 * Java's Unix sockets for a library that requires a {@link Socket}; the library is configured with this class name.
 */
public final class UnixSockets extends SocketFactory {
    private final String path;

    /** The library passes the path as the only argument. */
    public UnixSockets(String path) {
        this.path = path;
    }

    @Override
    public Socket createSocket() {
        return new Unix(path);
    }

    @Override
    public Socket createSocket(String host, int port) throws IOException {
        throw new IOException("this factory knows only the socket " + path);
    }

    @Override
    public Socket createSocket(String host, int port, InetAddress local, int localPort) throws IOException {
        return createSocket(host, port);
    }

    @Override
    public Socket createSocket(InetAddress host, int port) throws IOException {
        return createSocket(path, port);
    }

    @Override
    public Socket createSocket(InetAddress host, int port, InetAddress local, int localPort) throws IOException {
        return createSocket(path, port);
    }

    /** A channel as a socket. Methods that need an IP address do nothing. */
    private static final class Unix extends Socket {
        private final String path;
        private SocketChannel channel;

        Unix(String path) {
            this.path = path;
        }

        @Override
        public void connect(SocketAddress ignored, int timeout) throws IOException {
            channel = SocketChannel.open(StandardProtocolFamily.UNIX);
            try {
                channel.connect(UnixDomainSocketAddress.of(path));
            } catch (IOException e) {
                channel.close();
                throw e;
            }
        }

        @Override
        public void connect(SocketAddress ignored) throws IOException {
            connect(ignored, 0);
        }

        @Override
        public InputStream getInputStream() {
            // Channels.newInputStream would block writing while reading.
            return new InputStream() {
                private final ReadableByteChannel from = channel;
                private final byte[] one = new byte[1];

                @Override
                public int read() throws IOException {
                    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
                }

                @Override
                public int read(byte[] into, int at, int length) throws IOException {
                    return length == 0 ? 0 : from.read(ByteBuffer.wrap(into, at, length));
                }
            };
        }

        @Override
        public OutputStream getOutputStream() {
            return new OutputStream() {
                private final WritableByteChannel to = channel;

                @Override
                public void write(int b) throws IOException {
                    write(new byte[] {(byte) b}, 0, 1);
                }

                @Override
                public void write(byte[] bytes, int at, int length) throws IOException {
                    ByteBuffer rest = ByteBuffer.wrap(bytes, at, length);
                    while (rest.hasRemaining()) {
                        to.write(rest);
                    }
                }
            };
        }

        @Override
        public void close() throws IOException {
            if (channel != null) {
                channel.close();
            }
        }

        @Override
        public boolean isConnected() {
            return channel != null && channel.isConnected();
        }

        @Override
        public boolean isClosed() {
            return channel != null && !channel.isOpen();
        }

        @Override
        public void setTcpNoDelay(boolean on) { }

        @Override
        public void setKeepAlive(boolean on) { }

        @Override
        public void setSoTimeout(int ms) { }

        @Override
        public int getSoTimeout() {
            return 0;
        }

        @Override
        public void setReceiveBufferSize(int size) { }

        @Override
        public void setSendBufferSize(int size) { }

        @Override
        public int getSendBufferSize() {
            return 8192;
        }

        @Override
        public int getReceiveBufferSize() {
            return 8192;
        }

        @Override
        public void shutdownOutput() throws IOException {
            channel.shutdownOutput();
        }
    }
}
