import type { Contract, ResponseBody } from '@millrace/contract';
import type { SignIn } from '@millrace/platform/auth';
import type { HttpServer } from '@millrace/platform/http';

/** Public facts of the installation, also without sign-in. */
export interface InstallationInfo {
  readonly name: string;
  readonly publicUrl: string | null;
  readonly inferenceUrl: string | null;
  readonly version: string;
  readonly topUp: boolean;
  readonly demo: boolean;
  readonly supplierTerms: ResponseBody<Contract['operations']['getInstallation']>['supplierTerms'];
  /** Null: sign-in is disabled. */
  readonly signIn: SignIn | null;
}

export function serveInstallation(
  server: HttpServer,
  operations: Contract['operations'],
  { signIn, ...facts }: InstallationInfo,
): void {
  const response = {
    ...facts,
    signUp: signIn?.settings.signUp ?? ('closed' as const),
    mail: signIn?.hasMail ?? false,
    passkeys: signIn !== null,
    oidc: (signIn?.oidc ?? []).map(({ id, name }) => ({ id, name })),
  };
  server.serve(operations.getInstallation, async () => response);
}
