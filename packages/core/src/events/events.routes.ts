import { contract } from '@millrace/contract';
import { requirePrincipal, sse, type HttpServer, type RequestContext } from '@millrace/platform/http';
import { Fault } from '@millrace/platform/fault';
import type { KeyId } from '@millrace/platform/ids';
import { concernsResource, toWireEvent, type FeedEvent, type ResourceRef } from './events.ts';
import type { Feed } from './feed.ts';

const { listEvents } = contract.operations;

export function serveEvents(server: HttpServer, feed: Feed): void {
  server.serve(listEvents, async ({ query, context }) => {
    if (context.wantsEventStream) return streamEvents(feed, context, { after: query.after });
    const { orgId, mode } = requirePrincipal(context);
    if (query.after === 'latest') {
      const lastSeq = await feed.latest(orgId);
      return { items: [], nextCursor: null, nextAfter: lastSeq, lastSeq };
    }
    const { after, limit } = query;
    const { events, more, lastSeq } = await feed.page(orgId, { after, limit, mode });
    const nextAfter = events.at(-1)?.seq ?? after;
    return {
      items: events.map(toWireEvent),
      nextCursor: more ? String(nextAfter) : null,
      nextAfter,
      lastSeq,
    };
  });
}

/** Streams events from `after`, or from `Last-Event-ID` after a reconnect; with `about`, only those of one resource. */
export async function streamEvents(
  feed: Feed,
  context: RequestContext,
  from: { readonly after: number | 'latest'; readonly about?: ResourceRef },
): Promise<ReturnType<typeof sse>> {
  const { orgId, mode, keyId } = requirePrincipal(context);
  const wanted = resumeAfter(context.header('last-event-id'), from.after);
  const after = wanted === 'latest' ? await feed.latest(orgId) : wanted;
  const { about } = from;
  // The filter includes the caller's own key, so that its revocation ends the stream; that event is not sent.
  const filter = about === undefined ? {} : { about: [about, { kind: 'api-key', id: keyId }] };
  // Open the feed before the response starts, so that a refusal is still an ordinary error response.
  const leaving = new AbortController();
  const signal = AbortSignal.any([leaving.signal, context.signal]);
  const events = await feed.follow(orgId, { after, mode, signal, ...filter });
  return sse(async (stream) => {
    stream.signal.addEventListener('abort', () => leaving.abort(), { once: true });
    if (stream.signal.aborted) leaving.abort();
    // The client does not know the number behind `latest` and needs it to resume after a disconnect.
    if (wanted === 'latest') await stream.send({ id: String(after) });
    for await (const event of events) {
      const shown = about === undefined || concernsResource(event, about);
      const message = { id: String(event.seq), event: event.type, data: toWireEvent(event) };
      if (shown && !(await stream.send(message))) break;
      if (endsOwnKey(event, keyId)) break;
    }
    leaving.abort();
  });
}

/** A stream outlasts the authentication of its key, so the revocation of the key must end it. */
function endsOwnKey(event: FeedEvent, keyId: KeyId): boolean {
  return event.type === 'key.revoked' && event.resource.id === keyId;
}

/** A browser sends `Last-Event-ID` when it reconnects. The header is newer than `after` in the URL. */
function resumeAfter(lastEventId: string | undefined, after: number | 'latest'): number | 'latest' {
  if (lastEventId === undefined || lastEventId === '') return after;
  const seq = /^[0-9]{1,16}$/.test(lastEventId) ? Number(lastEventId) : Number.NaN;
  if (Number.isSafeInteger(seq)) return seq;
  throw new Fault('INVALID_CURSOR', {
    message: 'Last-Event-ID is not an event id of this feed.',
    suggestion: 'Send the id of the last event you received, or omit the header and use after.',
  });
}
