export { createRestateEndpoint, type RestateEndpoint, type RestateEndpointOptions } from './endpoint.ts';
export {
  createRestateIngress,
  RestateIngressError,
  type RestateIngress,
  type RestateIngressOptions,
  type RestateSend,
} from './ingress.ts';
export {
  readDeployments,
  registerDeployment,
  releaseAddress,
  removeDeployment,
  type RestateAdminOptions,
  type RestateDeployment,
} from './deployments.ts';
export {
  createRestateConnection,
  openClientCertificate,
  RestateRefusedError,
  type ClientCertificate,
  type RestateConnection,
} from './connection.ts';
export { envelopeOf, step, type StepLimits } from './step.ts';
