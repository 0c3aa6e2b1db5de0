export { hashText } from './hash.ts';
export { createProber, type Prober } from './probe.ts';
export { createRouter, type RouterOptions } from './router.ts';
export type {
  DeploymentView,
  NoRoute,
  Route,
  Router,
  RouteRequest,
  UpstreamCall,
  UpstreamOutcome,
} from './routing.ts';
