import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '@millrace/platform/fault';
import type { HttpServer } from '@millrace/platform/http';

type Request = Parameters<HttpServer['admitFile']>[0];
type Reply = Parameters<HttpServer['admitFile']>[1];

/** Where `npm run console:build` leaves the console. */
export const consoleFolder = path.join(import.meta.dirname, '..', '..', 'console', 'dist');

export interface ConsoleOptions {
  /** What was built. */
  readonly folder: string;
  /** Where the browser asks models; it may connect to nothing else beside this api. */
  readonly inferenceUrl: string | null;
  /** People reach it by HTTPS, and shall never come by anything less. */
  readonly https: boolean;
}

/** In the order in which they are preferred. */
const encodings = [
  { name: 'br', suffix: '.br' },
  { name: 'gzip', suffix: '.gz' },
] as const;
type Encoding = (typeof encodings)[number]['name'];

interface ConsoleFile {
  readonly headers: Readonly<Record<string, string>>;
  readonly plain: Buffer;
  /** As the build packed it; some files are not worth it. */
  readonly packed: Partial<Record<Encoding, Buffer>>;
}

const YEAR_SECONDS = 31_536_000;
/** Where the build puts files whose names change with their content. */
const HASHED = 'assets/';
const PAGE = 'index.html';

const contentTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
};

/**
 * The console's files, from memory: they were all read at boot, and a path is looked up in a map, so no path leads
 * anywhere else on the disk. A path that is no file is one of the console's own pages and gets its HTML.
 */
export function serveConsole(server: HttpServer, options: ConsoleOptions): void {
  const guards = securityHeaders(options);
  const files = readConsole(options.folder);
  const page = files.get(PAGE);
  const response = async (request: Request, reply: Reply): Promise<Reply> => {
    reply.headers(guards);
    if (page === undefined) return sendNotBuiltPage(reply);
    const wanted = (request.params as { readonly '*'?: string })['*'] ?? '';
    const file = files.get(wanted);
    // HTML in place of a script would be the stranger failure: the tab is older than this release and has to load anew.
    if (file === undefined && wanted.startsWith(HASHED)) throw new Fault('ROUTE_NOT_FOUND');
    return send(file ?? page, request, reply);
  };
  const method = ['GET', 'HEAD'];
  const onRequest = server.admitFile;
  const toConsole = async (_request: Request, reply: Reply): Promise<Reply> =>
    reply.headers(guards).redirect('/console/', 302);
  server.fastify.route({ method, url: '/console/*', onRequest, handler: response });
  server.fastify.route({ method, url: '/console', onRequest, handler: toConsole });
  if (page !== undefined) server.fastify.route({ method, url: '/', onRequest, handler: toConsole });
}

/** Everything that the build left, by its path below `/console/`. Empty where nothing was built. */
function readConsole(folder: string): ReadonlyMap<string, ConsoleFile> {
  if (!existsSync(path.join(folder, PAGE))) return new Map();
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    // What begins with a dot is the build's own: its manifest, and what it was built from.
    .filter((name) => !name.startsWith('.') && !encodings.some(({ suffix }) => name.endsWith(suffix)));
  return new Map(names.map((name) => [name, readConsoleFile(folder, name)]));
}

function readConsoleFile(folder: string, name: string): ConsoleFile {
  const plain = readFileSync(path.join(folder, name));
  const packed: Partial<Record<Encoding, Buffer>> = {};
  for (const encoding of encodings) {
    const file = path.join(folder, name + encoding.suffix);
    if (existsSync(file)) packed[encoding.name] = readFileSync(file);
  }
  const digest = createHash('sha256').update(plain).digest('base64url').slice(0, 27);
  return {
    plain,
    packed,
    headers: {
      'content-type': contentTypes[path.extname(name)] ?? 'application/octet-stream',
      'cache-control': cacheControlOf(name),
      // Weak, because the packed bytes have it too.
      etag: `W/"${digest}"`,
      vary: 'accept-encoding',
    },
  };
}

function cacheControlOf(name: string): string {
  if (name.startsWith(HASHED)) return `public, max-age=${YEAR_SECONDS}, immutable`;
  return 'no-cache';
}

async function send(file: ConsoleFile, request: Request, reply: Reply): Promise<Reply> {
  reply.headers(file.headers);
  const known = (request.headers['if-none-match'] ?? '').split(',').map((each) => each.trim());
  if (known.includes(file.headers['etag'] ?? '') || known.includes('*')) return reply.code(304).send();
  const accepted = acceptedEncodings(request.headers['accept-encoding'] ?? '');
  for (const { name } of encodings) {
    const bytes = file.packed[name];
    if (bytes === undefined || !accepted.has(name)) continue;
    return reply.header('content-encoding', name).send(bytes);
  }
  return reply.send(file.plain);
}

/** The codings that the header names and does not refuse by `q=0`. */
export function acceptedEncodings(header: string): ReadonlySet<string> {
  const named = header.split(',').map((part) =>
    part
      .toLowerCase()
      .split(';')
      .map((piece) => piece.trim()),
  );
  return new Set(named.flatMap(([name = '', q = '']) => (/^q=0(\.0*)?$/.test(q) ? [] : [name])));
}

/**
 * What the browser holds the console to, whatever gets into it: scripts and styles are files of ours and nothing else, calls
 * go to this api and to the gateway, and no other site frames it or is told where people come from.
 */
function securityHeaders({ inferenceUrl, https }: ConsoleOptions): Readonly<Record<string, string>> {
  const connect = ["'self'", ...(inferenceUrl === null ? [] : [new URL(inferenceUrl).origin])];
  const policy = {
    'default-src': "'none'",
    'script-src': "'self'",
    'style-src': "'self'",
    'img-src': "'self' data: blob:",
    'media-src': 'blob: data:',
    'font-src': "'self'",
    'connect-src': connect.join(' '),
    'manifest-src': "'self'",
    'frame-ancestors': "'none'",
    'base-uri': "'none'",
    'form-action': "'self'",
  };
  return {
    'content-security-policy': Object.entries(policy)
      .map(([name, value]) => `${name} ${value}`)
      .join('; '),
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy':
      'camera=(), microphone=(), geolocation=(), payment=(), usb=(), serial=(), display-capture=()',
    'x-frame-options': 'DENY',
    ...(https ? { 'strict-transport-security': `max-age=${YEAR_SECONDS}` } : {}),
  };
}

const notBuiltPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>The console is not built</title>
<h1>The console is not built</h1>
<p>This api works, and its console was not built on this machine. Run <code>npm run console:build</code> and start the api anew.</p>
</html>
`;

async function sendNotBuiltPage(reply: Reply): Promise<Reply> {
  return reply.code(503).header('content-type', 'text/html; charset=utf-8').send(notBuiltPage);
}
