import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { systemClock } from '@millrace/platform/clock';
import ssh2, { type ClientChannel, type ConnectConfig } from 'ssh2';
import { newSshKeyPair, type SshKeyPair } from '../ssh-key-pair.ts';

/** A key of a test: the private half for the client, the public half as a line of `authorized_keys`. */
export type KeyPair = SshKeyPair;

export const newKeyPair = (): KeyPair => newSshKeyPair('conformance');

export interface SshSession {
  /** The host's key as it showed it, in base64: what a client pins on first use. */
  readonly hostKey: string;
  /** Runs a command and gives what it wrote. */
  run(command: string): Promise<string>;
  /** Resolves when the connection is gone, whoever ended it. */
  readonly closed: Promise<void>;
  end(): void;
}

const connectTimeoutMs = 10_000;

/** Logs in, or throws what the client says: the test decides whether that was right. */
export async function openSsh(config: ConnectConfig): Promise<SshSession> {
  const client = new ssh2.Client();
  let hostKey = '';
  const closed = new Promise<void>((resolve) => {
    client.once('close', () => resolve());
  });
  const ready = new Promise<void>((resolve, reject) => {
    client.once('ready', resolve);
    // Stays for as long as the client does: a connection that is broken on purpose is reported here too.
    client.on('error', reject);
    client.once('close', () => reject(new Error('The connection was closed before anyone was logged in.')));
  });
  const hostVerifier = (key: Buffer): boolean => {
    hostKey = key.toString('base64');
    return true;
  };
  client.connect({ readyTimeout: connectTimeoutMs, ...config, hostVerifier });
  await ready;
  return {
    hostKey,
    closed,
    // Who is given more time to let us in is also slow to answer.
    run: (command) => execOverSsh(client, command, config.readyTimeout ?? connectTimeoutMs),
    end: () => client.end(),
  };
}

function execOverSsh(client: ssh2.Client, command: string, timeoutMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (): void =>
      reject(new Error('The connection was lost, or fell silent, while the command ran.'));
    const cancel = systemClock.after(timeoutMs, fail);
    client.once('close', fail);
    client.exec(command, (error, channel: ClientChannel) => {
      if (error !== undefined) {
        cancel();
        reject(error);
        return;
      }
      let text = '';
      channel.on('data', (chunk: Buffer) => {
        text += chunk.toString('utf8');
      });
      channel.once('close', () => {
        cancel();
        client.off('close', fail);
        resolve(text);
      });
    });
  });
}

/** Whether something accepts connections there. Silence counts as no. */
export async function acceptsTcp(target: { readonly host: string; readonly port: number }): Promise<boolean> {
  const socket = connectTcp(target);
  const late = new AbortController();
  const cancel = systemClock.after(connectTimeoutMs, () => late.abort());
  try {
    await once(socket, 'connect', { signal: late.signal });
    return true;
  } catch {
    return false;
  } finally {
    cancel();
    socket.destroy();
  }
}
