import { headers, type Msg, type MsgHdrs } from '@nats-io/transport-node';
import type { JsMsg } from '@nats-io/jetstream';
import { envelopeFromHeaders, envelopeHeaders, type Envelope } from '../envelope/index.ts';
import type { IncomingMessage } from './types.ts';

const messageIdHeader = 'Nats-Msg-Id';

export function encode(payload: unknown): string {
  return JSON.stringify(payload ?? null);
}

export function toHeaders(envelope: Envelope): MsgHdrs {
  const made = headers();
  for (const [name, value] of Object.entries(envelopeHeaders(envelope))) made.set(name, value);
  return made;
}

export function toIncoming(message: Msg | JsMsg): IncomingMessage {
  const read = (name: string): string | undefined =>
    message.headers?.has(name) ? message.headers.get(name) : undefined;
  return {
    subject: message.subject,
    envelope: envelopeFromHeaders(read),
    messageId: read(messageIdHeader) ?? null,
    json: () => message.json<unknown>(),
  };
}
