export {
  openCredentialFiles,
  toCredentialSource,
  type CredentialFilesOptions,
  type CredentialSource,
} from './credential-source.ts';
export {
  assertKeyMatches,
  CertificateError,
  checkPinnedTls,
  fingerprintsOf,
  parseCertificates,
  pinnedTlsOptions,
  type PinnedTls,
} from './pinned-tls.ts';
export { tlsFilesOf, watchTlsFiles, type TlsFilesOptions } from './tls-files.ts';
export { explainTlsError, isCertificateCode, type TlsRepair } from './tls-problem.ts';
