import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { systemClock } from '@millrace/platform/clock';
import ssh2, { type ClientChannel, type ConnectConfig } from 'ssh2';
import { newSshKeyPair, type SshKeyPair } from '../ssh-key-pair.ts';

export type KeyPair = SshKeyPair;

export const newKeyPair = (): KeyPair => newSshKeyPair('conformance');

export interface SshSession {
  /** The server's host key in base64. */
  readonly hostKey: string;
  /** Returns the output of the command. */
  run(command: string): Promise<string>;
  /** Resolves when the connection has ended. */
  readonly closed: Promise<void>;
  end(): void;
}

const connectTimeoutMs = 10_000;

export async function openSsh(config: ConnectConfig): Promise<SshSession> {
  const client = new ssh2.Client();
  let hostKey = '';
  const closed = new Promise<void>((resolve) => {
    client.once('close', () => resolve());
  });
  const ready = new Promise<void>((resolve, reject) => {
    client.once('ready', resolve);
    // Stays registered, because a connection that is broken on purpose also emits an error.
    client.on('error', reject);
    client.once('close', () => reject(new Error('The connection was closed before the login.')));
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
    // A server with a longer login timeout is also slow to respond.
    run: (command) => execOverSsh(client, command, config.readyTimeout ?? connectTimeoutMs),
    end: () => client.end(),
  };
}

function execOverSsh(client: ssh2.Client, command: string, timeoutMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (): void => reject(new Error('The connection was lost or timed out while the command ran.'));
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

/** Whether the port accepts connections; a timeout counts as no. */
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
