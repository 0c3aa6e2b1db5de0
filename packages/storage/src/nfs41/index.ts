export { anonymousStateid, Nfs41Client, type Nfs41Options, type OpenFile } from './client.ts';
export { isNfsError, NfsError } from './status.ts';
