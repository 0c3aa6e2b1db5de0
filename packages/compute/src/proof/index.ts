export {
  handOverSsh,
  keyIsRefused,
  loginAndCount,
  newProofKey,
  replaceKeysOverSsh,
  type ProofKey,
  type ProofLook,
} from './proof.ts';
export type { SshTarget } from './ssh-call.ts';
