import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress } from 'node:zlib';

/** Serves finished HTML pages with the files of the built console, compressed and cached as the api serves them. */
export interface StaticSite extends AsyncDisposable {
  readonly url: string;
  /** Serves the HTML at `/console/NAME`. */
  add(name: string, html: string): Promise<void>;
}

const built = path.join(import.meta.dirname, '..', '..', 'apps', 'console', 'dist');
const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

export async function startStaticSite(): Promise<StaticSite> {
  const pages = new Map<string, Buffer>();
  const server = createServer((request, response) => {
    const name = (request.url ?? '').replace(/^\/console\//, '');
    const page = pages.get(name);
    if (page !== undefined) {
      response.writeHead(200, {
        'content-type': 'text/html; charset=utf-8',
        'content-encoding': 'br',
        'cache-control': 'no-cache',
      });
      response.end(page);
      return;
    }
    readBuilt(name).then(
      ({ bytes, encoding }) => {
        response.writeHead(200, {
          'content-type': types[path.extname(name)] ?? 'application/octet-stream',
          'cache-control': 'public, max-age=31536000, immutable',
          ...encoding,
        });
        response.end(bytes);
      },
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${String(port)}`,
    add: async (name, html) => {
      pages.set(name, await promisify(brotliCompress)(html));
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await promisify(server.close.bind(server))();
    },
  };
}

async function readBuilt(
  name: string,
): Promise<{ readonly bytes: Buffer; readonly encoding: Readonly<Record<string, string>> }> {
  // Names with a hash only, so that no path leaves the folder.
  const [, file = ''] = /^assets\/([\w.-]+)$/.exec(name) ?? [];
  const packed = await readFile(path.join(built, 'assets', `${file}.br`)).catch(() => null);
  if (packed !== null) return { bytes: packed, encoding: { 'content-encoding': 'br' } };
  return { bytes: await readFile(path.join(built, 'assets', file)), encoding: {} };
}
