export { measureMachine, type MachineFigures, type MeasureLook } from './measure.ts';
export {
  handOverSsh,
  keyIsRefused,
  loginAndCount,
  newProofKey,
  replaceKeysOverSsh,
  type ProofHostKey,
  type ProofKey,
  type ProofLook,
} from './proof.ts';
export type { SshTarget } from './ssh-call.ts';
