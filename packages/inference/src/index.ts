export type { ChatAdapter, ChatStream, Counts, EngineFailure } from './adapters/adapter.ts';
export type { DeploymentView, Route, RouteWish } from './routing/routing.ts';
