import { createHash } from 'node:crypto';
import type { Contract } from '@millrace/contract';
import { buildDocument, type documentNames } from '@millrace/contract/openapi';
import { Fault } from '@millrace/platform/fault';
import { preparedReply, type HttpServer, type Reply } from '@millrace/platform/http';
import { serveErrorPage } from './error-page.ts';
import { serveRunbooks } from './runbook-pages.ts';

interface PublicUrls {
  readonly publicUrl: string | null;
  /** Null: inference has the same address. */
  readonly inferenceUrl: string | null;
}

interface Prepared {
  readonly body: Record<string, unknown>;
  readonly text: string;
  readonly etag: string;
}

/** Documents do not change while the process runs, so they are serialised and hashed once. */
function prepare(contract: Contract, name: (typeof documentNames)[number], urls: PublicUrls): Prepared {
  const { publicUrl, inferenceUrl } = urls;
  const document = buildDocument(contract, name, publicUrl ?? undefined, inferenceUrl ?? undefined);
  const body: Record<string, unknown> = { ...document };
  const text = JSON.stringify(body);
  const digest = createHash('sha256').update(text).digest('base64url').slice(0, 27);
  return { body, text, etag: `"${digest}"` };
}

/** The contract with the configured providers of this installation. */
export function serveDocuments(
  server: HttpServer,
  contract: Contract,
  options: PublicUrls & { readonly open: boolean },
): void {
  const { getOpenapi, getOpenDocument } = contract.operations;
  const documents = {
    'v1.json': prepare(contract, 'v1', options),
    'v2.json': prepare(contract, 'v2', options),
    'admin.json': prepare(contract, 'admin', options),
    'supplier.json': prepare(contract, 'supplier', options),
  };
  const response = ({ etag, ...prepared }: Prepared, cache: string): Reply<Record<string, unknown>> =>
    preparedReply(prepared, { etag, 'cache-control': cache });

  // The API reference lists no 304 for getOpenapi, so it always returns the document. The open paths honour If-None-Match.
  server.serve(getOpenapi, async () => response(documents['v2.json'], 'private, max-age=300'));
  server.serve(getOpenDocument, async ({ params }) => {
    if (!options.open) throw new Fault('ROUTE_NOT_FOUND');
    return response(documents[params.file], 'public, max-age=300');
  });
  serveErrorPage(server);
  serveRunbooks(server);
}
