import { contract } from '@millrace/contract';
import { requirePrincipal, sse, type HttpServer, type RequestContext } from '@millrace/platform/http';
import { Fault } from '@millrace/platform/fault';
import type { KeyId } from '@millrace/platform/ids';
import { concernsResource, toWireEvent, type FeedEvent, type ResourceRef } from './events.ts';
import type { Feed } from './feed.ts';

const { listEvents } = contract.operations;

/** Serves the feed: a page, or a stream that goes on. */
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

/**
 * Answers with the caller's events from `after` on, or from where its last connection ended, for as long as it stays. With
 * `about`, those of one thing only.
 */
export async function streamEvents(
  feed: Feed,
  context: RequestContext,
  from: { readonly after: number | 'latest'; readonly about?: ResourceRef },
): Promise<ReturnType<typeof sse>> {
  const { orgId, mode, keyId } = requirePrincipal(context);
  const wanted = resumeAfter(context.header('last-event-id'), from.after);
  const after = wanted === 'latest' ? await feed.latest(orgId) : wanted;
  const { about } = from;
  // The end of the caller's own key is listened for as well, and shown only to those who asked for everything.
  const filter = about === undefined ? {} : { about: [about, { kind: 'api-key', id: keyId }] };
  // The stream is opened here, not inside it: a refusal must still be an ordinary answer.
  const leaving = new AbortController();
  const signal = AbortSignal.any([leaving.signal, context.signal]);
  const events = await feed.follow(orgId, { after, mode, signal, ...filter });
  return sse(async (stream) => {
    stream.signal.addEventListener('abort', () => leaving.abort(), { once: true });
    if (stream.signal.aborted) leaving.abort();
    // Whoever asked for the latest does not know where that was, and could not go on from there after a break.
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

/** A stream outlives the check of its key at the door, so the key's own end must end it too. */
function endsOwnKey(event: FeedEvent, keyId: KeyId): boolean {
  return event.type === 'key.revoked' && event.resource.id === keyId;
}

/** `Last-Event-ID` is what a browser sends when it reconnects; it knows better than the address it first called. */
function resumeAfter(lastEventId: string | undefined, after: number | 'latest'): number | 'latest' {
  if (lastEventId === undefined || lastEventId === '') return after;
  const seq = /^[0-9]{1,16}$/.test(lastEventId) ? Number(lastEventId) : Number.NaN;
  if (Number.isSafeInteger(seq)) return seq;
  throw new Fault('INVALID_CURSOR', {
    message: 'Last-Event-ID is not an id that this feed has sent.',
    suggestion: 'Send the id of the last event received, or leave the header out and use after.',
  });
}
