export {
  envelopeFromHeaders,
  envelopeHeaders,
  payloadSchemaVersion,
  systemEnvelope,
  type Actor,
  type Envelope,
  type Mode,
} from './envelope.ts';
