package contend;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import org.mariadb.jdbc.Configuration;
import org.mariadb.jdbc.util.ConfigurableSocketFactory;

/** Java's Unix sockets for Connector/J, whose own implementation needs a native library. */
public final class MariadbSockets extends ConfigurableSocketFactory {
    /** Connection option with the socket's path; the library passes on options that it does not know. */
    static final String PATH = "contendSocket";

    private UnixSockets sockets;

    @Override
    public void setConfiguration(Configuration configuration, String host) {
        sockets = new UnixSockets(configuration.nonMappedOptions().getProperty(PATH));
    }

    @Override
    public Socket createSocket() {
        return sockets.createSocket();
    }

    @Override
    public Socket createSocket(String host, int port) throws IOException {
        return sockets.createSocket(host, port);
    }

    @Override
    public Socket createSocket(String host, int port, InetAddress local, int localPort) throws IOException {
        return sockets.createSocket(host, port);
    }

    @Override
    public Socket createSocket(InetAddress host, int port) throws IOException {
        return sockets.createSocket(host, port);
    }

    @Override
    public Socket createSocket(InetAddress host, int port, InetAddress local, int localPort) throws IOException {
        return sockets.createSocket(host, port);
    }
}
