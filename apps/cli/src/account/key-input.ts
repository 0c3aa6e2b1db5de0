import type { Context } from '../framework/context.ts';
import { CancelledError, UsageError } from '../framework/errors.ts';
import { keyPattern } from '../framework/key-mode.ts';

/** Reads the key from the terminal or standard input, never from a flag, which other users could see. */
export async function promptForKey(context: Context, fromStdin: boolean): Promise<string> {
  const key = (await readKey(context, fromStdin)).trim();
  if (key === '') throw new UsageError('No key was given. Paste an API key, or pipe it in.');
  if (!keyPattern.test(key)) {
    throw new UsageError('This is not an API key. API keys begin with mr_live_ or mr_test_.', {
      fix: 'Copy the whole key and try again: millrace login',
    });
  }
  return key;
}

async function readKey(context: Context, fromStdin: boolean): Promise<string> {
  if (fromStdin) return context.files.readStdin();
  if (!context.io.inIsTty) {
    throw new UsageError('Cannot ask for the key because the input is not a terminal.', {
      fix: 'Pipe it in: millrace login --key-stdin < key.txt',
    });
  }
  const typed = await context.prompt.secret('API key (not shown while you type): ');
  if (typed === null) throw new CancelledError();
  return typed;
}

/** Plain HTTP exposes the key to the network, except on the same machine. */
export function isUnencryptedRemoteUrl(apiUrl: string): boolean {
  const { protocol, hostname } = new URL(apiUrl);
  return protocol === 'http:' && !/^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
}
