import { createHmac, randomInt } from 'node:crypto';
import { eventually, type CallResponse } from '@millrace/testing';
import type { ApiFixture } from './api.fixture.ts';
import { fixturePublicUrl } from './users.fixture.ts';

/** A unique address, because tests share the rate limits of one Valkey. */
export function newAddress(): { readonly 'x-forwarded-for': string } {
  const block = () => randomInt(0x10000).toString(16);
  return { 'x-forwarded-for': `2001:db8:${block()}:${block()}::1` };
}

/** Behaves like a console page in a browser: keeps cookies and sends origin headers. */
export interface Browser {
  readonly cookies: ReadonlyMap<string, string>;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<CallResponse>;
  post(path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<CallResponse>;
  readonly lastSet: readonly string[];
}

export function openBrowser(
  fixture: Pick<ApiFixture, 'call'>,
  saved: ReadonlyMap<string, string> = new Map(),
  origin = fixturePublicUrl,
): Browser {
  const cookies = new Map(saved);
  const address = newAddress();
  let lastSet: readonly string[] = [];

  const send = async (
    method: 'GET' | 'POST',
    path: string,
    body: unknown,
    headers: Readonly<Record<string, string>>,
  ): Promise<CallResponse> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fixture.call({
      method,
      path,
      headers: {
        'sec-fetch-site': 'same-origin',
        ...address,
        ...(method === 'POST' ? { origin } : {}),
        ...(cookie === '' ? {} : { cookie }),
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
    });
    const set = response.headers['set-cookie'];
    lastSet = Array.isArray(set) ? set : set === undefined ? [] : [String(set)];
    for (const line of lastSet) storeCookie(cookies, line);
    return response;
  };

  return {
    cookies,
    get lastSet() {
      return lastSet;
    },
    get: (path, headers = {}) => send('GET', path, undefined, headers),
    post: (path, body, headers = {}) => send('POST', path, body, headers),
  };
}

function storeCookie(cookies: Map<string, string>, line: string): void {
  const [pair = ''] = line.split(';', 1);
  const at = pair.indexOf('=');
  const [name, value] = [pair.slice(0, at), pair.slice(at + 1)];
  if (value === '' || /max-age=0\b/i.test(line)) cookies.delete(name);
  else cookies.set(name, value);
}

/** The latest email to an address with a matching subject. */
export async function findEmail(fixture: ApiFixture, email: string, subject: RegExp): Promise<string> {
  let body = '';
  await eventually({ what: `an email to ${email} about ${String(subject)}` }, async () => {
    const message = fixture.smtp?.emails.findLast(
      ({ to, headers }) => to.includes(email) && subject.test(headers['subject'] ?? ''),
    );
    body = message?.body ?? '';
    return message !== undefined;
  });
  return body;
}

/** The path of the link in an email. */
export function linkPathIn(email: string): string {
  const [link = ''] = /https:\/\/cloud\.example\.com\/[^\s"<]+/.exec(email) ?? [];
  return link.replaceAll('&amp;', '&').slice(fixturePublicUrl.length);
}

/** The current TOTP code (RFC 6238). */
export function totpAt(secret: string, nowMs: number): string {
  const bits = [...secret.replaceAll('=', '')]
    .map((char) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(char).toString(2).padStart(5, '0'))
    .join('');
  const bytes = bits.match(/.{8}/g) ?? [];
  const key = Buffer.from(bytes.map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(nowMs / 30_000)));
  const mac = createHmac('sha1', key).update(counter).digest();
  const offset = (mac.at(-1) ?? 0) & 0xf;
  return String((mac.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}
