import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import ssh2, { type Algorithms, type AuthContext, type Connection, type ServerChannel } from 'ssh2';
import { newSshKeyPair } from '../ssh-key-pair.ts';

export interface TestServer {
  readonly host: string;
  readonly port: number;
  /** Number of open connections. */
  readonly open: number;
  /** Bytes sent to clients. */
  readonly sent: number;
  close(): Promise<void>;
}

/** Reads and drops the input, because a server that does not read never notices a disconnect. */
export function serveTcp(welcome: (socket: Socket) => void): Promise<TestServer> {
  return listen((socket) => {
    socket.resume();
    welcome(socket);
  });
}

async function listen(welcome: (socket: Socket) => void): Promise<TestServer> {
  const sockets = new Set<Socket>();
  let sent = 0;
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => {
      sockets.delete(socket);
      sent += socket.bytesWritten;
    });
    welcome(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  return {
    host: '127.0.0.1',
    port: address.port,
    get open() {
      return sockets.size;
    },
    get sent() {
      return [...sockets].reduce((sum, { bytesWritten }) => sum + bytesWritten, sent);
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

export interface SshBehaviour {
  readonly hostKey?: string;
  readonly banner?: string;
  readonly algorithms?: Algorithms;
  /** Authentication by the server; accepts every client by default. */
  readonly onAuth?: (context: AuthContext, client: Connection) => void;
  /** Handles a command; by default it gets no response. */
  readonly run?: (channel: ServerChannel, line: string) => void;
  readonly onClient?: (client: Connection) => void;
}

export const newHostKey = (): string => newSshKeyPair('host').private;

export function serveSshd(behaviour: SshBehaviour): Promise<TestServer> {
  const { hostKey = newHostKey(), banner, algorithms, onAuth, run, onClient } = behaviour;
  return listen((socket) => {
    const config = {
      hostKeys: [hostKey],
      ...(banner !== undefined && { banner }),
      ...(algorithms !== undefined && { algorithms }),
    };
    const server = new ssh2.Server(config, (client) => {
      client.on('error', () => socket.destroy());
      client.on('authentication', (context) => (onAuth ?? ((any) => any.accept()))(context, client));
      client.on('session', (accept) => {
        accept().on('exec', (acceptExec, _reject, { command }) => {
          const channel = acceptExec();
          channel.on('error', () => socket.destroy());
          channel.resume();
          run?.(channel, command);
        });
      });
      onClient?.(client);
    });
    server.injectSocket(socket);
  });
}

/** Writes until the client disconnects. */
export function writeEndlessly(stream: Socket | ServerChannel, text: string): void {
  const go = (): void => {
    while (!stream.destroyed && stream.writable && stream.write(text));
  };
  stream.on('drain', go);
  go();
}

/** Responds to commands from a table; other commands exit with 127, as in a shell. */
export function shellOf(responses: Readonly<Record<string, readonly [code: number, stdout: string]>>) {
  return (channel: ServerChannel, line: string): void => {
    const [code, stdout] = responses[line] ?? [127, ''];
    channel.write(stdout);
    channel.exit(code);
    channel.end();
  };
}
