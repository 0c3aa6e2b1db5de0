import { defineCommand } from '../framework/command.ts';
import { UsageError } from '../framework/errors.ts';
import { printJsonLine } from '../framework/output.ts';
import {
  eventLine,
  followEvents,
  readFeedHead,
  matchesTypes,
  latestEvents,
  typeFlag,
} from '../events/feed.ts';
import type { MillraceEvent } from '../sdk.ts';

const shownByDefault = 20;

export const command = defineCommand({
  name: 'events',
  summary: 'Follow the events of your organisation',
  description:
    'Shows the newest events, oldest first. With --follow it keeps running and shows later events; after an interrupted connection it continues without gaps or repeats. Ctrl-C ends it.',
  flags: {
    follow: { type: 'boolean', short: 'f', describe: 'keep running and show events as they happen' },
    after: {
      type: 'number',
      integer: true,
      min: 0,
      value: 'SEQ',
      describe: 'start after the event with this number',
    },
    type: typeFlag,
    limit: {
      type: 'number',
      integer: true,
      min: 1,
      max: 5_000,
      value: 'N',
      describe: 'the maximum number of events; default 20',
    },
  },
  examples: {
    'millrace events': 'The newest events',
    'millrace events --follow --type rental': 'All future events of rentals',
    'millrace events --follow --after 1042 --json': 'For a program that resumes: one object per line',
  },
  operations: ['listEvents'],
  json: 'lines',
  failure: 'Could not read the events',
  run: async (context, { flags }) => {
    const { type: types, limit = shownByDefault } = flags;
    const show = (event: MillraceEvent): void => {
      if (context.output.format === 'json') printJsonLine(context, event);
      else context.io.out(`${eventLine(event, context.io)}\n`);
    };
    if (context.output.columns !== undefined)
      throw new UsageError('Events have no columns. Use --json for every field.');
    const client = context.client();
    if (flags.follow !== true) {
      const events =
        flags.after === undefined
          ? await latestEvents(client, { types, limit })
          : await startSequence(client.events.list({ after: flags.after, limit: 200 }), types, limit);
      events.forEach(show);
      if (events.length === 0) context.note('No events yet. Wait for them: millrace events --follow');
      return;
    }
    let last = flags.after ?? (await readFeedHead(client)).last;
    let left = flags.limit ?? Number.POSITIVE_INFINITY;
    if (context.io.errIsTty)
      context.note(context.io.paintErr('dim', 'Waiting for events. Ctrl-C ends this.'));
    await followEvents(context, last, async (event) => {
      last = event.seq;
      if (matchesTypes(types, event)) {
        show(event);
        left -= 1;
      }
      return left > 0 ? 'go on' : 'enough';
    });
    if (context.signal.aborted)
      context.note(`Stopped. To continue from here: millrace events --follow --after ${last}`);
  },
});

async function startSequence(
  events: AsyncIterable<MillraceEvent>,
  types: readonly string[],
  limit: number,
): Promise<MillraceEvent[]> {
  const wanted: MillraceEvent[] = [];
  for await (const event of events) {
    if (matchesTypes(types, event)) wanted.push(event);
    if (wanted.length >= limit) break;
  }
  return wanted;
}
