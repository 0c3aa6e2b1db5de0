import { existsSync } from 'node:fs';
import path from 'node:path';

import { Failure } from '../../failure.ts';
import { defaultCacheDir, repositoryRoot } from '../../site.ts';

/** The small chat model of this repository, which every llama-server here serves. */
export const chatModel = {
  name: 'millrace-tiny',
  file: path.join(repositoryRoot, 'fixtures', 'models', 'chat', 'millrace-tiny.gguf'),
  /** Context length of the training, and of each slot. */
  contextLength: 2048,
} as const;

export interface LlamaOptions {
  readonly port: number;
  readonly apiKeyFile: string;
  /** Requests processed at once; others wait without a limit. */
  readonly parallel?: number;
  readonly contextPerSlot?: number;
  /** Further arguments, for example `--cache-ram 0`. */
  readonly args?: readonly string[];
}

export interface LlamaCommand {
  /** Working directory, in which llama-server finds the code for the machine's processor. */
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
 * Runs the llama-server of a later Debian release with its own loader and C library, without root and without changing the
 * system.
 */
export function llamaCommandIn(cacheDir: string, options: LlamaOptions): LlamaCommand {
  const { loader, server, libraryPath, backends } = llamaPaths(llamaFolder(cacheDir));
  return {
    folder: backends,
    file: loader,
    args: ['--library-path', libraryPath, server, ...serverArguments(options)],
  };
}

/** Whether llama-server and its model file exist on this machine. */
export function isLlamaInstalled(): boolean {
  return isLlamaUnpacked(defaultCacheDir()) && existsSync(chatModel.file);
}

/** For programs that start their own servers. */
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
    // A model this small is not faster with more threads.
    ...['--threads', '1'],
    // Each idle client connection occupies one thread; without spare threads even /health would wait.
    ...['--threads-http', '64'],
    ...['--metrics', '--slots', '--no-ui'],
    ...(options.args ?? []),
  ];
}
