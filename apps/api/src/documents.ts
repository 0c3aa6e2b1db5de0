import { createHash } from 'node:crypto';
import type { Contract } from '@millrace/contract';
import { buildDocument, type documentNames } from '@millrace/contract/openapi';
import { Fault } from '@millrace/platform/fault';
import { preparedReply, type HttpServer, type Reply } from '@millrace/platform/http';
import { serveErrorPage } from './error-page.ts';

interface Prepared {
  readonly body: Record<string, unknown>;
  readonly text: string;
  readonly etag: string;
}

/** A document never changes while the process lives, so it is made, written and fingerprinted once, at boot. */
function prepare(contract: Contract, name: (typeof documentNames)[number], url: string | null): Prepared {
  const body: Record<string, unknown> = { ...buildDocument(contract, name, url ?? undefined) };
  const text = JSON.stringify(body);
  const digest = createHash('sha256').update(text).digest('base64url').slice(0, 27);
  return { body, text, etag: `"${digest}"` };
}

/** The description of this installation: the contract with the providers it is configured for. */
export function serveDocuments(
  server: HttpServer,
  contract: Contract,
  options: { readonly open: boolean; readonly publicUrl: string | null },
): void {
  const { getOpenapi, getOpenDocument } = contract.operations;
  const documents = {
    'v1.json': prepare(contract, 'v1', options.publicUrl),
    'v2.json': prepare(contract, 'v2', options.publicUrl),
    'admin.json': prepare(contract, 'admin', options.publicUrl),
    'supplier.json': prepare(contract, 'supplier', options.publicUrl),
  };
  const response = ({ etag, ...prepared }: Prepared, cache: string): Reply<Record<string, unknown>> =>
    preparedReply(prepared, { etag, 'cache-control': cache });

  // The ETag lets a client compare. A 304 is not among the statuses that the interface gives this operation, so the
  // document is answered whole; the open paths are ours and do honour If-None-Match.
  server.serve(getOpenapi, async () => response(documents['v2.json'], 'private, max-age=300'));
  server.serve(getOpenDocument, async ({ params }) => {
    if (!options.open) throw new Fault('ROUTE_NOT_FOUND');
    return response(documents[params.file], 'public, max-age=300');
  });
  serveErrorPage(server);
}
