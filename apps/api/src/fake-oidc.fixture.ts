import { createSign, generateKeyPairSync, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KEEP_ALIVE_MS } from '@millrace/testing';

/** A double of an OpenID Connect provider with validly signed tokens. */
export interface FakeOidcProvider extends AsyncDisposable {
  readonly discoveryUrl: string;
  /** The redirect of the browser after this user signed in at the provider. */
  signIn(
    authorizeUrl: string,
    who: {
      readonly sub: string;
      readonly email: string;
      /** Some providers send it as text. */
      readonly verified: boolean | string;
      readonly name: string;
    },
  ): { readonly path: string };
  /** Signs tokens with a key that is not in the published set. */
  forge(isForging: boolean): void;
}

export async function startFakeOidcProvider(clientId: string): Promise<FakeOidcProvider> {
  const own = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const foreign = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwk = { ...own.publicKey.export({ format: 'jwk' }), kid: 'k1', alg: 'RS256', use: 'sig' };
  const claims = new Map<string, object>();
  let signingKey = own.privateKey;
  let issuer = '';

  const idToken = (payload: object): string => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const now = Math.floor(Date.now() / 1_000);
    const body = `${part({ alg: 'RS256', kid: 'k1', typ: 'JWT' })}.${part({ iss: issuer, aud: clientId, iat: now, exp: now + 300, ...payload })}`;
    return `${body}.${createSign('RSA-SHA256').update(body).sign(signingKey).toString('base64url')}`;
  };
  const responses: Readonly<Record<string, (request: IncomingMessage) => Promise<unknown>>> = {
    '/.well-known/openid-configuration': async () => ({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/userinfo`,
      jwks_uri: `${issuer}/jwks`,
      id_token_signing_alg_values_supported: ['RS256'],
    }),
    '/jwks': async () => ({ keys: [jwk] }),
    '/token': async (request) => {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      const code = new URLSearchParams(body).get('code') ?? '';
      const payload = claims.get(code);
      claims.delete(code);
      if (payload === undefined) return null;
      return {
        access_token: randomUUID(),
        token_type: 'Bearer',
        expires_in: 300,
        id_token: idToken(payload),
      };
    },
  };
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    const respond = responses[(request.url ?? '').split('?', 1)[0] ?? ''];
    void Promise.resolve(respond?.(request) ?? null).then((json) => {
      response.writeHead(json === null ? 400 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(json ?? { error: 'invalid_grant' }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    discoveryUrl: `${issuer}/.well-known/openid-configuration`,
    signIn(authorizeUrl, { sub, email, verified, name }) {
      const params = new URL(authorizeUrl).searchParams;
      const code = randomUUID();
      const nonce = params.get('nonce');
      claims.set(code, { sub, email, email_verified: verified, name, ...(nonce === null ? {} : { nonce }) });
      const back = new URL(params.get('redirect_uri') ?? '');
      back.searchParams.set('code', code);
      back.searchParams.set('state', params.get('state') ?? '');
      return { path: `${back.pathname}${back.search}` };
    },
    forge: (isForging) => {
      signingKey = isForging ? foreign.privateKey : own.privateKey;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
