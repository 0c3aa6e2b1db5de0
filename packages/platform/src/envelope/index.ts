export {
  envelopeFromHeaders,
  envelopeHeaders,
  payloadSchemaVersion,
  type Actor,
  type Envelope,
  type Mode,
} from './envelope.ts';
