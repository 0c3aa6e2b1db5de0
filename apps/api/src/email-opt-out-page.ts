import { resubscribe, isUnsubscribed, unsubscribe } from '@millrace/core/notices';
import type { SignIn } from '@millrace/platform/auth';
import type { Db } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import type { HttpServer } from '@millrace/platform/http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { escapeHtml } from './error-page.ts';

/**
 * Unsubscribes an address from invitation emails, and subscribes it again. The link in the email is the proof, so no sign-in is
 * needed. Mail programs can post to it (RFC 8058).
 */

const path = '/mail/invitations';
const BODY_BYTES = 4_096;
const isolation = 'read committed';

export function optOutLink({ settings, mailRefusals }: SignIn): (email: string) => string {
  return (email) => {
    const link = new URL(path, settings.publicUrl);
    link.searchParams.set('mailbox', email);
    link.searchParams.set('proof', mailRefusals.proofOf(email));
    return link.href;
  };
}

export function serveEmailOptOut(
  server: HttpServer,
  { db, signIn }: { readonly db: Db; readonly signIn: SignIn },
): void {
  const onRequest = server.admitAnonymous;
  const verifiedEmail = (request: FastifyRequest): string => {
    const { mailbox: email, proof } = request.query as Record<string, unknown>;
    const isProven =
      typeof email === 'string' && typeof proof === 'string' && signIn.mailRefusals.isProofOf(email, proof);
    if (!isProven) throw new Fault('ROUTE_NOT_FOUND');
    return email;
  };
  void server.fastify.register(async (scope) => {
    ignoreBodies(server, scope);
    scope.get(path, { onRequest }, async (request, reply) => {
      const email = verifiedEmail(request);
      return renderPage(reply, { email, link: request.url, isRefused: await isUnsubscribed(db, email) });
    });
    scope.post(path, { onRequest }, async (request, reply) => {
      const email = verifiedEmail(request);
      const isRefused = (request.query as Record<string, unknown>)['allow'] === undefined;
      await db.transaction({ name: 'refuse invitation mail', isolation }, (tx) =>
        isRefused ? unsubscribe(tx, email) : resubscribe(tx, email),
      );
      return renderPage(reply, { email, link: request.url, isRefused });
    });
  });
}

/** All parameters are in the URL, so bodies of forms and mail programs are ignored. */
function ignoreBodies(server: HttpServer, scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', (request, payload, done) => {
    server.readText(request, payload, {
      maxBytes: BODY_BYTES,
      done: () => done(null),
      fail: (error) => done(error as Error),
    });
  });
}

function renderPage(
  reply: FastifyReply,
  state: { readonly email: string; readonly link: string; readonly isRefused: boolean },
): FastifyReply {
  const email = escapeHtml(state.email);
  const target = new URL(state.link, 'http://localhost');
  target.searchParams.delete('allow');
  if (state.isRefused) target.searchParams.set('allow', '1');
  const action = escapeHtml(`${target.pathname}${target.search}`);
  const [title, text, button] = state.isRefused
    ? ['Unsubscribed', `${email} gets no invitation emails.`, 'Subscribe again']
    : ['Unsubscribe from invitation emails', `${email} gets an email when invited.`, 'Unsubscribe'];
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'content-security-policy':
      "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'",
  };
  return reply.headers(headers).send(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 32rem; margin: 3rem auto; padding: 0 1rem; }
</style>
<h1>${title}</h1>
<p>${text}</p>
<form method="post" action="${action}"><button>${button}</button></form>
</html>
`);
}
