import { followEvents, readFeedHead, matchesTypes, typeFlag } from '../../events/feed.ts';
import { defineCommand } from '../../framework/command.ts';
import type { Context } from '../../framework/context.ts';
import { UsageError } from '../../framework/errors.ts';
import { printJsonLine } from '../../framework/output.ts';
import { nonEmpty } from '../../framework/profiles.ts';
import { padTo, safeText } from '../../framework/text.ts';
import { forward, parseReceiverUrl, type ForwardResult } from '../../webhooks/forward.ts';
import { isValidSecret, newSecret } from '../../webhooks/sign.ts';

/** The same timeout as that of the service. */
const timeoutMs = 15_000;

export const command = defineCommand({
  name: 'webhook listen',
  summary: 'Forward signed events to a program on your machine',
  description:
    'It creates no webhook and needs no public address: it reads events from the feed and forwards them in order, one at a time, in the format of the service. They are signed with the secret (whsec_…) in MILLRACE_WEBHOOK_SECRET, or with a new one that is printed at the start. Events that your program does not accept are shown and not sent again. Ctrl-C ends it.',
  positionals: [{ name: 'url', describe: 'a port of this machine, or an address' }],
  flags: {
    type: typeFlag,
    after: {
      type: 'number',
      integer: true,
      min: 0,
      value: 'SEQ',
      describe: 'start after the event with this number; default: the next event',
    },
    limit: { type: 'number', integer: true, min: 1, value: 'N', describe: 'stop after this many events' },
  },
  examples: {
    'millrace webhook listen 3000': 'All events, to http://127.0.0.1:3000/',
    'millrace webhook listen http://127.0.0.1:3000/hooks --type rental --after 1042':
      'Events of rentals since event 1042, and future ones',
  },
  operations: ['listEvents'],
  json: { kind: 'lines', fields: ['seq', 'id', 'type', 'httpStatus', 'error', 'durationMs'] },
  failure: 'Could not follow the events',
  run: async (context, { args, flags }) => {
    const url = parseReceiverUrl(args.url);
    const given = nonEmpty(context.env['MILLRACE_WEBHOOK_SECRET']);
    const secret = secretOf(context, given);
    const { clock, fetch, signal } = context;
    let last = flags.after ?? (await readFeedHead(context.client())).last;
    let left = flags.limit ?? Number.POSITIVE_INFINITY;
    context.note(`Forwarding to ${url}. Ctrl-C ends this.`);
    if (given === undefined) context.note(`Signed with ${secret}`);
    await followEvents(context, last, async (event) => {
      if (matchesTypes(flags.type, event)) {
        printForwarded(context, await forward(event, { url, secret, clock, fetch, timeoutMs, signal }));
        left -= 1;
      }
      last = event.seq;
      return left > 0 ? 'go on' : 'enough';
    });
    if (signal.aborted) {
      context.note(`Stopped. To continue from here: millrace webhook listen ${args.url} --after ${last}`);
    }
  },
});

function secretOf(context: Context, given: string | undefined): string {
  if (given === undefined) return newSecret(context.randomBytes);
  if (isValidSecret(given)) return given;
  throw new UsageError('MILLRACE_WEBHOOK_SECRET must be whsec_ followed by 24 to 64 bytes in base64.');
}

function printForwarded(context: Context, forwarded: ForwardResult): void {
  if (context.output.format === 'json') {
    printJsonLine(context, forwarded);
    return;
  }
  const { paint } = context.io;
  const { seq, type, httpStatus, error, durationMs } = forwarded;
  const response = error === null ? paint('green', String(httpStatus)) : paint('red', safeText(error));
  context.io.out(
    `${String(seq).padStart(6)}  ${padTo(safeText(type), 22)}  ${response}  ${paint('dim', `${durationMs} ms`)}\n`,
  );
}
