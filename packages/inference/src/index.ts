export type { ChatAdapter, ChatStream, Counts, EngineFailure } from './adapters/adapter.ts';
export type {
  DeploymentView,
  NoRoute,
  PriceOf,
  Route,
  RouteOrder,
  Router,
  RouteWish,
  Visit,
  VisitOutcome,
} from './routing/routing.ts';
