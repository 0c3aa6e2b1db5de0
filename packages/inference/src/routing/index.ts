export { hashText } from './hash.ts';
export { createProber, type Prober } from './prober.ts';
export { createRouter, type RouterOptions } from './router.ts';
export type {
  DeploymentView,
  NoRoute,
  Route,
  Router,
  RouteRequest,
  UpstreamCall,
  UpstreamOutcome,
} from './router-types.ts';
