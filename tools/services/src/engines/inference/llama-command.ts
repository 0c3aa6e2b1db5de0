import { existsSync } from 'node:fs';
import path from 'node:path';

import { Failure } from '../../failure.ts';
import { defaultCacheDir, repositoryRoot } from '../../site.ts';

/** The tiny chat model of our own that every llama-server here serves: see its card. */
export const chatModel = {
  name: 'millrace-tiny',
  file: path.join(repositoryRoot, 'fixtures', 'models', 'chat', 'millrace-tiny.gguf'),
  /** Tokens that it was trained to follow; each slot gets so many. */
  contextLength: 2048,
} as const;

export interface LlamaOptions {
  readonly port: number;
  readonly apiKeyFile: string;
  /** Requests that are worked on at once; more wait, for ever if need be. */
  readonly parallel?: number;
  readonly contextPerSlot?: number;
  /** Whatever else it takes, for example `--cache-ram 0`. */
  readonly args?: readonly string[];
}

/** A llama-server as a process: where it must run, and how it is called. */
export interface LlamaCommand {
  /** The engine looks for the code of the machine's processor in its working directory. */
  readonly folder: string;
  readonly file: string;
  readonly args: readonly string[];
}

export function llamaFolder(cacheDir: string): string {
  return path.join(cacheDir, 'llama.cpp');
}

function llamaPaths(folder: string) {
  const libraries = path.join(folder, 'usr', 'lib', 'x86_64-linux-gnu');
  return {
    loader: path.join(libraries, 'ld-linux-x86-64.so.2'),
    server: path.join(folder, 'usr', 'bin', 'llama-server'),
    libraryPath: [path.join(libraries, 'llama'), libraries].join(':'),
    backends: path.join(libraries, 'ggml', 'backends0'),
  };
}

export function isLlamaUnpacked(cacheDir: string): boolean {
  const { loader, server, backends } = llamaPaths(llamaFolder(cacheDir));
  return [loader, server, backends].every((place) => existsSync(place));
}

/**
 * Debian's llama-server of a later release runs beside the system's older C library by the loader that came with it; so
 * nothing of the machine changes, and neither a chroot nor root is needed.
 */
export function llamaCommandIn(cacheDir: string, options: LlamaOptions): LlamaCommand {
  const { loader, server, libraryPath, backends } = llamaPaths(llamaFolder(cacheDir));
  return {
    folder: backends,
    file: loader,
    args: ['--library-path', libraryPath, server, ...serverArguments(options)],
  };
}

/** For programs that start servers of their own. */
export function llamaCommand(options: LlamaOptions): LlamaCommand {
  const cacheDir = defaultCacheDir();
  if (isLlamaUnpacked(cacheDir)) return llamaCommandIn(cacheDir, options);
  throw new Failure('llama-server is not installed.', 'Run `npm run services -- up --install llama`.');
}

function serverArguments(options: LlamaOptions): string[] {
  const { parallel = 4, contextPerSlot = chatModel.contextLength } = options;
  return [
    ...['--model', chatModel.file, '--alias', chatModel.name],
    ...['--host', '127.0.0.1', '--port', String(options.port)],
    ...['--api-key-file', options.apiKeyFile],
    ...['--parallel', String(parallel), '--ctx-size', String(parallel * contextPerSlot)],
    // More threads for one model this small only wait for each other.
    ...['--threads', '1'],
    // Each idle connection of a client holds one; without spare ones even /health would wait.
    ...['--threads-http', '64'],
    ...['--metrics', '--slots', '--no-ui'],
    ...(options.args ?? []),
  ];
}
