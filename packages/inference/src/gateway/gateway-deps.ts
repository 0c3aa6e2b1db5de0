import type { AdmissionDeps } from './requests/admission.ts';
import type { MeteredRequestDeps } from './requests/metered-request.ts';
import type { TemplateOverheads } from './requests/template-overheads.ts';
import type { ServerDeps } from './http/server.ts';
import type { EngineSlots } from './upstream/engine-slots.ts';
import type { Upstreams } from './upstream/upstreams.ts';

export interface GatewayDeps extends ServerDeps, AdmissionDeps {
  readonly upstreams: Upstreams;
  /** Null: prompts in engine slots are never reused. */
  readonly slots: EngineSlots | null;
  readonly exchanges: MeteredRequestDeps;
  readonly templates: TemplateOverheads;
}
