import { once } from 'node:events';
import { createServer } from 'node:net';
import { CommandError } from '../command.ts';

/**
 * Allows one run at a time, because two would write different secrets. The lock is an abstract Unix socket, which the kernel
 * releases when the process ends, however it ends.
 */
export async function lockFolder(folder: string): Promise<AsyncDisposable> {
  const server = createServer();
  server.listen({ path: `\0millrace-admin init ${folder}` });
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new CommandError(`Another millrace-admin init is preparing ${folder}. Wait until it has ended.`, {
      cause: error,
    });
  }
  return {
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, 'close');
    },
  };
}
