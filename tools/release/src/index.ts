export { serverPrograms } from './bundle-server.ts';
export { stageServer, type StagedServer } from './stage-server.ts';
