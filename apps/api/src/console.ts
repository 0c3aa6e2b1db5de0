import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '@millrace/platform/fault';
import type { HttpServer } from '@millrace/platform/http';
import { productFolder } from '@millrace/platform/release';

type Request = Parameters<HttpServer['admitFile']>[0];
type Reply = Parameters<HttpServer['admitFile']>[1];

/** Output folder of `npm run console:build`. */
export const consoleFolder = path.join(productFolder, 'apps', 'console', 'dist');

export interface ConsoleOptions {
  readonly folder: string;
  /** The only origin besides this api that the browser may connect to. */
  readonly inferenceUrl: string | null;
  /** Public access is by HTTPS, so HSTS is sent. */
  readonly https: boolean;
}

/** In order of preference. */
const encodings = [
  { name: 'br', suffix: '.br' },
  { name: 'gzip', suffix: '.gz' },
] as const;
type Encoding = (typeof encodings)[number]['name'];

interface ConsoleFile {
  readonly headers: Readonly<Record<string, string>>;
  readonly plain: Buffer;
  /** Compressed by the build; absent for files that do not shrink. */
  readonly packed: Partial<Record<Encoding, Buffer>>;
}

const YEAR_SECONDS = 31_536_000;
/** Folder of files whose names contain their hash. */
const HASHED = 'assets/';
const PAGE = 'index.html';
/** File of the build: by route, the scripts of its page that the HTML does not name. */
const PRELOADS = '.preloads.json';

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

/** Serves the console from memory: paths are map keys, so no path reaches another file. Unknown paths get the console's HTML. */
export function serveConsole(server: HttpServer, options: ConsoleOptions): void {
  const guards = securityHeaders(options);
  const files = readConsole(options.folder);
  const page = files.get(PAGE);
  const preloads = readPreloads(options.folder);
  const response = async (request: Request, reply: Reply): Promise<Reply> => {
    reply.headers(guards);
    if (page === undefined) return sendNotBuiltPage(reply);
    const wanted = (request.params as { readonly '*'?: string })['*'] ?? '';
    const file = files.get(wanted);
    // Return 404 instead of HTML for a missing script: the tab is older than this release and must reload.
    if (file === undefined && wanted.startsWith(HASHED)) throw new Fault('ROUTE_NOT_FOUND');
    if (file === undefined) reply.headers(preloadHeader(preloads, wanted));
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

type Preloads = readonly (readonly [route: readonly string[], link: string])[];

function readPreloads(folder: string): Preloads {
  const file = path.join(folder, PRELOADS);
  if (!existsSync(file)) return [];
  const byRoute = JSON.parse(readFileSync(file, 'utf8')) as Readonly<Record<string, readonly string[]>>;
  return Object.entries(byRoute).map(([route, files]) => [
    route.split('/'),
    files.map((name) => `</console/${name}>; rel=modulepreload`).join(', '),
  ]);
}

/** Lets the browser load the scripts of the page together with those of the HTML. */
function preloadHeader(preloads: Preloads, wanted: string): Readonly<Record<string, string>> {
  const segments = wanted.split('/');
  const [, link = ''] =
    preloads.find(
      ([route]) =>
        route.length === segments.length &&
        route.every((segment, index) => segment.startsWith('$') || segment === segments[index]),
    ) ?? [];
  return link === '' ? {} : { link };
}

/** The built files by their path below `/console/`. Empty if the console was not built. */
function readConsole(folder: string): ReadonlyMap<string, ConsoleFile> {
  if (!existsSync(path.join(folder, PAGE))) return new Map();
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    // Names with a leading dot are internal files of the build, such as its manifest.
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
      // Weak, because compressed variants share it.
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

/** The encodings that the header lists without `q=0`. */
export function acceptedEncodings(header: string): ReadonlySet<string> {
  const named = header.split(',').map((part) =>
    part
      .toLowerCase()
      .split(';')
      .map((piece) => piece.trim()),
  );
  return new Set(named.flatMap(([name = '', q = '']) => (/^q=0(\.0*)?$/.test(q) ? [] : [name])));
}

/** Restricts the console even against injected content: only own scripts and styles, and calls to this api and the gateway. */
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
<p>The api is running, but its console was not built on this machine. Run <code>npm run console:build</code> and restart the api.</p>
</html>
`;

async function sendNotBuiltPage(reply: Reply): Promise<Reply> {
  return reply.code(503).header('content-type', 'text/html; charset=utf-8').send(notBuiltPage);
}
