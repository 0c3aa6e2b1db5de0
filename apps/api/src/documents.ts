import { createHash } from 'node:crypto';
import type { Contract } from '@millrace/contract';
import { buildDocument, documentNames } from '@millrace/contract/openapi';
import { reply, type HttpServer } from '@millrace/platform/http';
import { serveErrorPage } from './error-page.ts';

interface Prepared {
  readonly document: Record<string, unknown>;
  readonly text: string;
  readonly etag: string;
}

/** A document never changes while the process lives, so it is made and fingerprinted once, at boot. */
function prepare(contract: Contract, name: (typeof documentNames)[number]): Prepared {
  const document: Record<string, unknown> = { ...buildDocument(contract, name) };
  const text = JSON.stringify(document);
  const digest = createHash('sha256').update(text).digest('base64url').slice(0, 27);
  return { document, text, etag: `"${digest}"` };
}

/** The description of this installation: the contract with the providers it is configured for. */
export function serveDocuments(
  server: HttpServer,
  contract: Contract,
  options: { readonly open: boolean },
): void {
  const v2 = prepare(contract, 'v2');
  // The ETag lets a client compare. A 304 is not among the statuses the interface gives this operation, so the
  // document is answered whole; the open paths below are ours and do honour If-None-Match.
  server.serve(contract.operations.getOpenapi, async () => reply(v2.document, { etag: v2.etag }));
  serveErrorPage(server);
  if (!options.open) return;
  for (const name of documentNames) {
    const { text, etag } = name === 'v2' ? v2 : prepare(contract, name);
    server.fastify.get(
      `/openapi/${name}.json`,
      { onRequest: server.admitAnonymous },
      async (request, answer) => {
        answer.headers({ etag, 'cache-control': 'public, max-age=300' });
        if (request.headers['if-none-match'] === etag) return answer.code(304).send();
        return answer.header('content-type', 'application/json; charset=utf-8').send(text);
      },
    );
  }
}
