import path from 'node:path';

import { repositoryRoot } from '../../site.ts';

export type MediaServer = 'images' | 'speech';

export interface MediaOptions {
  readonly port: number;
  readonly apiKeyFile: string;
}

/** Model names. */
export const mediaModels: Readonly<Record<MediaServer, string>> = {
  images: 'millrace-toy-image',
  speech: 'millrace-flite',
};

const entries: Readonly<Record<MediaServer, string>> = {
  images: 'tools/services/src/media/image-server.ts',
  speech: 'tools/services/src/media/speech-server.ts',
};

/** The command that starts a toy engine, with the Node.js of the caller. */
export function mediaCommand(
  server: MediaServer,
  { port, apiKeyFile }: MediaOptions,
): { readonly file: string; readonly args: readonly string[]; readonly folder: string } {
  const entry = path.join(repositoryRoot, entries[server]);
  return {
    file: process.execPath,
    args: [entry, '--port', String(port), '--api-key-file', apiKeyFile],
    folder: repositoryRoot,
  };
}
