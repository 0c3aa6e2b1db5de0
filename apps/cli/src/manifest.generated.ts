// Written by `npm run cli:generate` from src/commands and the contract. Do not edit.
import type { Command } from './framework/command.ts';
import type { Manifest } from './framework/manifest.ts';

const generated = async (operation: string): Promise<Command> =>
  (await import('./generated/build.ts')).generatedCommand(operation);

export const manifest: Manifest = [
  {
    name: '__complete',
    summary: 'Completion candidates for shells',
    hidden: true,
    load: () => import('./commands/__complete.ts').then((module) => module.command),
  },
  {
    name: 'admin audit-log list',
    summary: 'Show the audit log of all organisations, newest first',
    load: () => import('./commands/admin/audit-log/list.ts').then((module) => module.command),
  },
  {
    name: 'admin audit-report get',
    summary: 'Read one audit with its findings',
    load: () => generated('adminGetAuditReport'),
  },
  {
    name: 'admin audit-report list',
    summary: 'List ledger audits, newest first',
    load: () => generated('adminListAuditReports'),
  },
  {
    name: 'admin cluster create',
    summary: 'Register the endpoint of a compute engine',
    load: () => generated('adminCreateCluster'),
  },
  {
    name: 'admin cluster list',
    summary: 'List clusters',
    load: () => generated('adminListClusters'),
  },
  {
    name: 'admin cluster remove',
    summary: 'Remove a cluster without running work',
    load: () => generated('adminRemoveCluster'),
  },
  {
    name: 'admin deployment create',
    summary: 'Register an engine that serves a model',
    load: () => generated('adminCreateDeployment'),
  },
  {
    name: 'admin deployment delete',
    summary: 'Delete a deployment; running streams finish',
    load: () => generated('adminDeleteDeployment'),
  },
  {
    name: 'admin deployment list',
    summary: 'List deployments with their health',
    load: () => generated('adminListDeployments'),
  },
  {
    name: 'admin deployment update',
    summary: 'Change, disable or enable a deployment',
    load: () => generated('adminUpdateDeployment'),
  },
  {
    name: 'admin entitlement create',
    summary: 'Entitle an organisation to a discount',
    load: () => generated('adminCreateEntitlement'),
  },
  {
    name: 'admin entitlement list',
    summary: 'List the discounts of an organisation',
    load: () => generated('adminListEntitlements'),
  },
  {
    name: 'admin entitlement revoke',
    summary: 'Withdraw an entitlement; running resources keep their frozen price',
    load: () => generated('adminRevokeEntitlement'),
  },
  {
    name: 'admin fleet',
    summary: 'Show nodes and GPUs by region, and how many are available',
    load: () => import('./commands/admin/fleet.ts').then((module) => module.command),
  },
  {
    name: 'admin health',
    summary: 'Read what is broken now, the effect on tenants, and the runbooks',
    load: () => generated('adminGetHealth'),
  },
  {
    name: 'admin machine approve',
    summary: 'Approve a supplier’s machine for the marketplace',
    load: () => generated('adminApproveMachine'),
  },
  {
    name: 'admin machine list',
    summary: 'List suppliers’ machines',
    load: () => generated('adminListMachines'),
  },
  {
    name: 'admin machine reject',
    summary: 'Reject a supplier’s machine, including an approved one',
    load: () => generated('adminRejectMachine'),
  },
  {
    name: 'admin maintenance cancel',
    summary: 'Cancel announced maintenance, or end it early',
    load: () => generated('adminCancelMaintenanceWindow'),
  },
  {
    name: 'admin maintenance create',
    summary: 'Announce maintenance; the time a machine is unavailable is not billed',
    load: () => generated('adminCreateMaintenanceWindow'),
  },
  {
    name: 'admin maintenance list',
    summary: 'List maintenance windows, newest first',
    load: () => generated('adminListMaintenanceWindows'),
  },
  {
    name: 'admin model create',
    summary: 'Add a model to the catalog',
    load: () => generated('adminCreateModel'),
  },
  {
    name: 'admin model list',
    summary: 'List all models of the catalog, including disabled ones',
    load: () => generated('adminListModels'),
  },
  {
    name: 'admin model update',
    summary: 'Change, disable or enable a model',
    load: () => generated('adminUpdateModel'),
  },
  {
    name: 'admin node drain',
    summary: 'Drain a node: running work continues, new work is placed elsewhere',
    load: () => import('./commands/admin/node/drain.ts').then((module) => module.command),
  },
  {
    name: 'admin node get',
    summary: 'Read a node',
    load: () => generated('adminGetNode'),
  },
  {
    name: 'admin node list',
    summary: 'List nodes with their status and rented GPUs',
    load: () => import('./commands/admin/node/list.ts').then((module) => module.command),
  },
  {
    name: 'admin node mark-gpu',
    summary: 'Take a single GPU out of service, or return it',
    load: () => generated('adminMarkGpu'),
  },
  {
    name: 'admin node quarantine',
    summary: 'Quarantine a node until an operator has checked it',
    load: () => import('./commands/admin/node/quarantine.ts').then((module) => module.command),
  },
  {
    name: 'admin node remove',
    summary: 'Remove an empty node from the fleet',
    load: () => generated('adminRemoveNode'),
  },
  {
    name: 'admin node resume',
    summary: 'Return a drained or quarantined node to service',
    load: () => import('./commands/admin/node/resume.ts').then((module) => module.command),
  },
  {
    name: 'admin node transitions',
    summary: 'List the transitions of a node, newest first',
    load: () => generated('adminListNodeTransitions'),
  },
  {
    name: 'admin node write-off',
    summary: 'Write off a node whose host never returns, with everything on it',
    load: () => generated('adminWriteOffNode'),
  },
  {
    name: 'admin org add-member',
    summary: 'Add a user to an organisation',
    load: () => generated('adminAddMember'),
  },
  {
    name: 'admin org adjust',
    summary: 'Correct a balance, up or down',
    load: () => generated('adminAdjust'),
  },
  {
    name: 'admin org balance',
    summary: 'Read the balance of any organisation',
    load: () => generated('adminGetBalance'),
  },
  {
    name: 'admin org create',
    summary: 'Create an organisation with its first owner',
    load: () => generated('adminCreateOrganisation'),
  },
  {
    name: 'admin org get',
    summary: 'Read any organisation',
    load: () => generated('adminGetOrganisation'),
  },
  {
    name: 'admin org grant',
    summary: 'Give an organisation credit',
    load: () => import('./commands/admin/org/grant.ts').then((module) => module.command),
  },
  {
    name: 'admin org list',
    summary: 'List all organisations',
    load: () => import('./commands/admin/org/list.ts').then((module) => module.command),
  },
  {
    name: 'admin org members',
    summary: 'List the members of any organisation',
    load: () => generated('adminListMembers'),
  },
  {
    name: 'admin org refund',
    summary: 'Refund part or all of a charge',
    load: () => generated('adminRefund'),
  },
  {
    name: 'admin org resume',
    summary: 'Lift the suspension of an organisation',
    load: () => import('./commands/admin/org/resume.ts').then((module) => module.command),
  },
  {
    name: 'admin org set-overdraft',
    summary: 'Set how far below zero a balance can go',
    load: () => generated('adminSetOverdraft'),
  },
  {
    name: 'admin org suspend',
    summary: 'Suspend an organisation: its keys are refused within a second',
    load: () => import('./commands/admin/org/suspend.ts').then((module) => module.command),
  },
  {
    name: 'admin org unfreeze',
    summary: 'Allow new work again after a disputed payment was settled',
    load: () => generated('adminUnfreeze'),
  },
  {
    name: 'admin overview',
    summary: 'Read revenue, utilisation, faults and pending decisions',
    load: () => generated('adminGetOverview'),
  },
  {
    name: 'admin payout list',
    summary: 'List payouts of all suppliers, newest first',
    load: () => generated('adminListPayouts'),
  },
  {
    name: 'admin payout settle',
    summary: 'Record a payout as paid, or reject it',
    load: () => generated('adminSettlePayout'),
  },
  {
    name: 'admin price create',
    summary: 'Set a price from a given time',
    load: () => import('./commands/admin/price/create.ts').then((module) => module.command),
  },
  {
    name: 'admin price end',
    summary: 'End a price, so that nothing new is sold at it',
    load: () => generated('adminEndPrice'),
  },
  {
    name: 'admin price list',
    summary: 'List the prices, newest first',
    load: () => import('./commands/admin/price/list.ts').then((module) => module.command),
  },
  {
    name: 'admin provider list',
    summary: 'List the configured providers and their regions',
    load: () => generated('adminListProviders'),
  },
  {
    name: 'admin provider update',
    summary: 'Enable or disable a provider or some of its regions',
    load: () => generated('adminUpdateProvider'),
  },
  {
    name: 'admin rental create-private-cloud',
    summary: 'Hand over a private cloud under contract; it is never metered by GPU',
    load: () => generated('adminCreatePrivateCloudRental'),
  },
  {
    name: 'admin rental list',
    summary: 'List rentals and instances of all organisations, newest first',
    load: () => generated('adminListRentals'),
  },
  {
    name: 'admin rental terminate',
    summary: 'Terminate any rental',
    load: () => generated('adminTerminateRental'),
  },
  {
    name: 'admin rental write-off',
    summary: 'Write off a rental whose host never returns',
    load: () => generated('adminWriteOffRental'),
  },
  {
    name: 'admin reservation list',
    summary: 'List requests for large reservations, newest first',
    load: () => generated('adminListReservationRequests'),
  },
  {
    name: 'admin reserve-option create',
    summary: 'Offer a reserved term',
    load: () => generated('adminCreateReserveOption'),
  },
  {
    name: 'admin reserve-option list',
    summary: 'List the available reserve options',
    load: () => generated('adminListReserveOptions'),
  },
  {
    name: 'admin supplier approve',
    summary: 'Approve a supplier',
    load: () => generated('adminApproveSupplier'),
  },
  {
    name: 'admin supplier list',
    summary: 'List suppliers and applications',
    load: () => generated('adminListSuppliers'),
  },
  {
    name: 'admin supplier reject',
    summary: 'Reject an application, or suspend an approved supplier',
    load: () => generated('adminRejectSupplier'),
  },
  {
    name: 'admin transfer list',
    summary: 'List transfers of all organisations, newest first',
    load: () => generated('adminListTransfers'),
  },
  {
    name: 'admin transfer reverse',
    summary: 'Reverse a transfer with its exact opposite',
    load: () => generated('adminReverse'),
  },
  {
    name: 'admin volume write-off',
    summary: 'Write off a volume whose storage node never returns',
    load: () => generated('adminWriteOffVolume'),
  },
  {
    name: 'api',
    summary: 'Call any operation of the API by its id',
    load: () => import('./commands/api.ts').then((module) => module.command),
  },
  {
    name: 'audit-log list',
    summary: 'Show the audit log of your organisation, newest first',
    load: () => import('./commands/audit-log/list.ts').then((module) => module.command),
  },
  {
    name: 'balance',
    summary: 'Show the balance, the burn rate and the runway',
    load: () => import('./commands/balance.ts').then((module) => module.command),
  },
  {
    name: 'balance credits',
    summary: 'Read the current balance',
    hidden: true,
    load: () => generated('getCurrentBalance'),
  },
  {
    name: 'balance purchases',
    summary: 'List the deposits of the organisation, newest first',
    load: () => generated('listPurchaseHistory'),
  },
  {
    name: 'budget create',
    summary: 'Set a spending limit for the organisation or one key',
    load: () => import('./commands/budget/create.ts').then((module) => module.command),
  },
  {
    name: 'budget delete',
    summary: 'Delete a budget: its limit no longer applies',
    load: () => import('./commands/budget/delete.ts').then((module) => module.command),
  },
  {
    name: 'budget list',
    summary: 'List budgets and how much of each is used',
    load: () => import('./commands/budget/list.ts').then((module) => module.command),
  },
  {
    name: 'budget update',
    summary: 'Change a budget',
    load: () => import('./commands/budget/update.ts').then((module) => module.command),
  },
  {
    name: 'catalog get',
    summary: 'Read what can be rented and called now, without signing in',
    load: () => generated('getCatalog'),
  },
  {
    name: 'chat',
    summary: 'Chat with a model; completions stream, with tokens and cost',
    load: () => import('./commands/chat.ts').then((module) => module.command),
  },
  {
    name: 'complete',
    summary: 'Complete a text with a model',
    load: () => import('./commands/complete.ts').then((module) => module.command),
  },
  {
    name: 'completion',
    summary: 'Print completions for your shell',
    load: () => import('./commands/completion.ts').then((module) => module.command),
  },
  {
    name: 'cost',
    summary: 'Show the cost of a rental',
    load: () => import('./commands/cost.ts').then((module) => module.command),
  },
  {
    name: 'cost-export',
    summary: 'Export all costs as CSV, in the columns of FOCUS',
    load: () => import('./commands/cost-export.ts').then((module) => module.command),
  },
  {
    name: 'document get',
    summary: 'Read one of the OpenAPI documents without a key',
    load: () => generated('getOpenDocument'),
  },
  {
    name: 'document openapi',
    summary: 'Read the OpenAPI document of v2',
    load: () => generated('getOpenapi'),
  },
  {
    name: 'events',
    summary: 'Follow the events of your organisation',
    load: () => import('./commands/events.ts').then((module) => module.command),
  },
  {
    name: 'image',
    summary: 'Generate an image',
    load: () => import('./commands/image.ts').then((module) => module.command),
  },
  {
    name: 'image generate',
    summary: 'Generate images',
    load: () => generated('generateImage'),
  },
  {
    name: 'installation get',
    summary: 'Read the sign-in options of this installation',
    load: () => generated('getInstallation'),
  },
  {
    name: 'invitation cancel',
    summary: 'Withdraw an invitation',
    load: () => generated('cancelInvitation'),
  },
  {
    name: 'invitation create',
    summary: 'Invite a person to the organisation',
    load: () => generated('inviteMember'),
  },
  {
    name: 'invitation list',
    summary: 'List open invitations',
    load: () => generated('listInvitations'),
  },
  {
    name: 'invoice download',
    summary: 'Download an invoice as a PDF file',
    load: () => import('./commands/invoice/download.ts').then((module) => module.command),
  },
  {
    name: 'invoice get',
    summary: 'Show an invoice with its lines',
    load: () => import('./commands/invoice/get.ts').then((module) => module.command),
  },
  {
    name: 'invoice list',
    summary: 'List invoices, newest first',
    load: () => import('./commands/invoice/list.ts').then((module) => module.command),
  },
  {
    name: 'key create',
    summary: 'Create an API key',
    load: () => import('./commands/key/create.ts').then((module) => module.command),
  },
  {
    name: 'key get',
    summary: 'Show an API key with its scopes, limits and last use',
    load: () => import('./commands/key/get.ts').then((module) => module.command),
  },
  {
    name: 'key list',
    summary: 'List API keys',
    load: () => import('./commands/key/list.ts').then((module) => module.command),
  },
  {
    name: 'key revoke',
    summary: 'Revoke an API key: it stops working within a second',
    load: () => import('./commands/key/revoke.ts').then((module) => module.command),
  },
  {
    name: 'key rotate',
    summary: 'Replace an API key with a new one',
    load: () => import('./commands/key/rotate.ts').then((module) => module.command),
  },
  {
    name: 'ledger',
    summary: 'List all changes of the balance with their causes, newest first',
    load: () => import('./commands/ledger.ts').then((module) => module.command),
  },
  {
    name: 'limits',
    summary: 'Show rate limits and quotas and their use',
    load: () => import('./commands/limits.ts').then((module) => module.command),
  },
  {
    name: 'login',
    summary: 'Sign in and save an API key',
    load: () => import('./commands/login.ts').then((module) => module.command),
  },
  {
    name: 'logout',
    summary: 'Remove the saved key of a profile',
    load: () => import('./commands/logout.ts').then((module) => module.command),
  },
  {
    name: 'logs',
    summary: 'Show the console output of a rental',
    load: () => import('./commands/logs.ts').then((module) => module.command),
  },
  {
    name: 'market history',
    summary: 'List ended instances with their cost',
    load: () => import('./commands/market/history.ts').then((module) => module.command),
  },
  {
    name: 'market instance by-post',
    summary: 'List marketplace instances',
    hidden: true,
    load: () => generated('listMarketplaceInstancesByPost'),
  },
  {
    name: 'market instance get',
    summary: 'Read one marketplace instance with its steps and cost',
    load: () => generated('getMarketplaceInstance'),
  },
  {
    name: 'market instances',
    summary: 'List your marketplace instances',
    load: () => import('./commands/market/instances.ts').then((module) => module.command),
  },
  {
    name: 'market list',
    summary: 'List available machines of suppliers, cheapest first',
    load: () => import('./commands/market/list.ts').then((module) => module.command),
  },
  {
    name: 'market rent',
    summary: 'Rent GPUs of a marketplace machine and wait until they are ready',
    load: () => import('./commands/market/rent.ts').then((module) => module.command),
  },
  {
    name: 'market terminate',
    summary: 'Terminate an instance and delete its disk',
    load: () => import('./commands/market/terminate.ts').then((module) => module.command),
  },
  {
    name: 'me notices',
    summary: 'Show or change your email notices',
    load: () => import('./commands/me/notices.ts').then((module) => module.command),
  },
  {
    name: 'member list',
    summary: 'List the members of an organisation',
    load: () => import('./commands/member/list.ts').then((module) => module.command),
  },
  {
    name: 'member remove',
    summary: 'Remove a member from an organisation',
    load: () => import('./commands/member/remove.ts').then((module) => module.command),
  },
  {
    name: 'member update',
    summary: 'Change the role of a member',
    load: () => import('./commands/member/update.ts').then((module) => module.command),
  },
  {
    name: 'models',
    summary: 'List the models that this key can use, with prices',
    load: () => import('./commands/models.ts').then((module) => module.command),
  },
  {
    name: 'offers',
    summary: 'List what you can rent now, with prices',
    load: () => import('./commands/offers.ts').then((module) => module.command),
  },
  {
    name: 'offers explain',
    summary: 'Explain why a rental is available or not, with alternatives',
    load: () => import('./commands/offers/explain.ts').then((module) => module.command),
  },
  {
    name: 'operation find',
    summary: 'Find the result of a request by its idempotency key',
    load: () => import('./commands/operation/find.ts').then((module) => module.command),
  },
  {
    name: 'operation get',
    summary: 'Show the result of a request by its record',
    load: () => import('./commands/operation/get.ts').then((module) => module.command),
  },
  {
    name: 'org get',
    summary: 'Read an organisation',
    load: () => generated('getOrganisation'),
  },
  {
    name: 'org list',
    summary: 'List the organisations of the caller',
    load: () => generated('listOrganisations'),
  },
  {
    name: 'org update',
    summary: 'Change an organisation',
    load: () => generated('updateOrganisation'),
  },
  {
    name: 'profile list',
    summary: 'List the saved profiles',
    load: () => import('./commands/profile/list.ts').then((module) => module.command),
  },
  {
    name: 'profile use',
    summary: 'Choose the profile for future commands',
    load: () => import('./commands/profile/use.ts').then((module) => module.command),
  },
  {
    name: 'quote',
    summary: 'Quote the cost of a rental',
    load: () => import('./commands/quote.ts').then((module) => module.command),
  },
  {
    name: 'rental create',
    summary: 'Rent a machine and wait until it is ready',
    load: () => import('./commands/rental/create.ts').then((module) => module.command),
  },
  {
    name: 'rental events',
    summary: 'List the events of a rental, oldest first',
    load: () => import('./commands/rental/events.ts').then((module) => module.command),
  },
  {
    name: 'rental extend',
    summary: 'Extend a rental',
    load: () => import('./commands/rental/extend.ts').then((module) => module.command),
  },
  {
    name: 'rental get',
    summary: 'Show a rental',
    load: () => import('./commands/rental/get.ts').then((module) => module.command),
  },
  {
    name: 'rental history',
    summary: 'List ended rentals with their cost',
    load: () => import('./commands/rental/history.ts').then((module) => module.command),
  },
  {
    name: 'rental list',
    summary: 'List live rentals',
    load: () => import('./commands/rental/list.ts').then((module) => module.command),
  },
  {
    name: 'rental metrics',
    summary: 'Show the utilisation of GPUs, memory and network',
    load: () => import('./commands/rental/metrics.ts').then((module) => module.command),
  },
  {
    name: 'rental reboot',
    summary: 'Reboot a rental',
    load: () => import('./commands/rental/reboot.ts').then((module) => module.command),
  },
  {
    name: 'rental rename',
    summary: 'Rename a rental',
    load: () => import('./commands/rental/rename.ts').then((module) => module.command),
  },
  {
    name: 'rental start',
    summary: 'Start a stopped rental',
    load: () => import('./commands/rental/start.ts').then((module) => module.command),
  },
  {
    name: 'rental stop',
    summary: 'Stop a rental and keep its disk',
    load: () => import('./commands/rental/stop.ts').then((module) => module.command),
  },
  {
    name: 'rental terminate',
    summary: 'Terminate a rental and delete its machine and disk',
    load: () => import('./commands/rental/terminate.ts').then((module) => module.command),
  },
  {
    name: 'rental update',
    summary: 'Change the settings of a rental',
    load: () => import('./commands/rental/update.ts').then((module) => module.command),
  },
  {
    name: 'rental wait',
    summary: 'Watch a rental until it runs, is off or has ended',
    load: () => import('./commands/rental/wait.ts').then((module) => module.command),
  },
  {
    name: 'reserve list',
    summary: 'List reserved terms with their discounts',
    load: () => import('./commands/reserve/list.ts').then((module) => module.command),
  },
  {
    name: 'reserve request',
    summary: 'Request more GPUs than are available',
    load: () => import('./commands/reserve/request.ts').then((module) => module.command),
  },
  {
    name: 'speech',
    summary: 'Convert text to speech, as MP3',
    load: () => import('./commands/speech.ts').then((module) => module.command),
  },
  {
    name: 'speech generate',
    summary: 'Generate speech',
    load: () => generated('generateAudio'),
  },
  {
    name: 'ssh',
    summary: 'Log in to a rental or an instance',
    load: () => import('./commands/ssh.ts').then((module) => module.command),
  },
  {
    name: 'ssh-key add',
    summary: 'Add a public key for your rentals',
    load: () => import('./commands/ssh-key/add.ts').then((module) => module.command),
  },
  {
    name: 'ssh-key delete',
    summary: 'Remove a public key',
    load: () => import('./commands/ssh-key/delete.ts').then((module) => module.command),
  },
  {
    name: 'ssh-key list',
    summary: 'List the public keys for your rentals',
    load: () => import('./commands/ssh-key/list.ts').then((module) => module.command),
  },
  {
    name: 'supplier account',
    summary: 'Read the status of the application or account',
    load: () => generated('supplierGetAccount'),
  },
  {
    name: 'supplier apply',
    summary: 'Apply to be a supplier',
    load: () => generated('supplierApply'),
  },
  {
    name: 'supplier earnings',
    summary: 'Read the earnings of your machines',
    load: () => generated('supplierGetEarnings'),
  },
  {
    name: 'supplier enrolment get',
    summary: 'Read an enrolment',
    load: () => generated('supplierGetEnrolment'),
  },
  {
    name: 'supplier enrolment list',
    summary: 'List enrolments, newest first',
    load: () => generated('supplierListEnrolments'),
  },
  {
    name: 'supplier join-token create',
    summary: 'Create a join token for machines',
    load: () => generated('supplierCreateJoinToken'),
  },
  {
    name: 'supplier join-token list',
    summary: 'List join tokens, without their secrets',
    load: () => generated('supplierListJoinTokens'),
  },
  {
    name: 'supplier join-token revoke',
    summary: 'Revoke a join token; machines that joined with it stay',
    load: () => generated('supplierRevokeJoinToken'),
  },
  {
    name: 'supplier machine drain',
    summary: 'Drain a machine: it accepts no new rentals',
    load: () => generated('supplierDrainMachine'),
  },
  {
    name: 'supplier machine get',
    summary: 'Read a machine',
    load: () => generated('supplierGetMachine'),
  },
  {
    name: 'supplier machine history',
    summary: 'List the transitions and faults of a machine',
    load: () => generated('supplierGetMachineHistory'),
  },
  {
    name: 'supplier machine list',
    summary: 'List your machines with status, price, rentals and obstacles',
    load: () => import('./commands/supplier/machine/list.ts').then((module) => module.command),
  },
  {
    name: 'supplier machine resume',
    summary: 'Return a machine to service that its supplier drained',
    load: () => generated('supplierResumeMachine'),
  },
  {
    name: 'supplier machine update',
    summary: 'Price, list or unlist a machine',
    load: () => generated('supplierUpdateMachine'),
  },
  {
    name: 'supplier machine withdraw',
    summary: 'Withdraw an empty machine',
    load: () => generated('supplierWithdrawMachine'),
  },
  {
    name: 'supplier payout list',
    summary: 'List payouts, newest first',
    load: () => generated('supplierListPayouts'),
  },
  {
    name: 'supplier payout request',
    summary: 'Request a payout',
    load: () => generated('supplierRequestPayout'),
  },
  {
    name: 'supplier statement get',
    summary: 'Read a statement with its lines',
    load: () => generated('supplierGetStatement'),
  },
  {
    name: 'supplier statement list',
    summary: 'List statements, newest first',
    load: () => generated('supplierListStatements'),
  },
  {
    name: 'topup',
    summary: 'Add money through a payment page',
    load: () => import('./commands/topup.ts').then((module) => module.command),
  },
  {
    name: 'topup get',
    summary: 'Show a top-up',
    load: () => import('./commands/topup/get.ts').then((module) => module.command),
  },
  {
    name: 'topup list',
    summary: 'List top-ups, newest first',
    load: () => import('./commands/topup/list.ts').then((module) => module.command),
  },
  {
    name: 'usage',
    summary: 'Show the cost by day and by model, as charts',
    load: () => import('./commands/usage.ts').then((module) => module.command),
  },
  {
    name: 'usage batch',
    summary: 'List the inference requests of one ledger line, oldest first',
    load: () => import('./commands/usage/batch.ts').then((module) => module.command),
  },
  {
    name: 'usage request',
    summary: 'Show the usage and cost of one inference request',
    load: () => import('./commands/usage/request.ts').then((module) => module.command),
  },
  {
    name: 'usage request-costs',
    summary: 'Read the cost of inference requests, in nano-USD',
    load: () => generated('getRequestCost'),
  },
  {
    name: 'version',
    summary: 'Show the version of the CLI and the address of the API',
    load: () => import('./commands/version.ts').then((module) => module.command),
  },
  {
    name: 'volume attach',
    summary: 'Attach a volume to rentals',
    load: () => import('./commands/volume/attach.ts').then((module) => module.command),
  },
  {
    name: 'volume create',
    summary: 'Create a volume and wait until it can be mounted',
    load: () => import('./commands/volume/create.ts').then((module) => module.command),
  },
  {
    name: 'volume delete',
    summary: 'Delete a volume and its snapshots',
    load: () => import('./commands/volume/delete.ts').then((module) => module.command),
  },
  {
    name: 'volume detach',
    summary: 'Detach a volume from rentals',
    load: () => import('./commands/volume/detach.ts').then((module) => module.command),
  },
  {
    name: 'volume get',
    summary: 'Show a volume',
    load: () => import('./commands/volume/get.ts').then((module) => module.command),
  },
  {
    name: 'volume list',
    summary: 'List your volumes with their rentals',
    load: () => import('./commands/volume/list.ts').then((module) => module.command),
  },
  {
    name: 'volume snapshot create',
    summary: 'Take a snapshot of a volume',
    load: () => import('./commands/volume/snapshot/create.ts').then((module) => module.command),
  },
  {
    name: 'volume snapshot delete',
    summary: 'Delete a snapshot',
    load: () => import('./commands/volume/snapshot/delete.ts').then((module) => module.command),
  },
  {
    name: 'volume snapshot list',
    summary: 'List the snapshots of a volume, newest first',
    load: () => import('./commands/volume/snapshot/list.ts').then((module) => module.command),
  },
  {
    name: 'volume snapshot restore',
    summary: 'Restore a snapshot into a new volume, or in place',
    load: () => import('./commands/volume/snapshot/restore.ts').then((module) => module.command),
  },
  {
    name: 'volume update',
    summary: 'Grow a volume or change its label',
    load: () => import('./commands/volume/update.ts').then((module) => module.command),
  },
  {
    name: 'webhook create',
    summary: 'Send events to your server',
    load: () => import('./commands/webhook/create.ts').then((module) => module.command),
  },
  {
    name: 'webhook delete',
    summary: 'Delete a webhook: it gets no further events',
    load: () => import('./commands/webhook/delete.ts').then((module) => module.command),
  },
  {
    name: 'webhook deliveries',
    summary: 'List the deliveries of a webhook with their responses, newest first',
    load: () => import('./commands/webhook/deliveries.ts').then((module) => module.command),
  },
  {
    name: 'webhook get',
    summary: 'Show a webhook',
    load: () => import('./commands/webhook/get.ts').then((module) => module.command),
  },
  {
    name: 'webhook list',
    summary: 'List webhooks with their status',
    load: () => import('./commands/webhook/list.ts').then((module) => module.command),
  },
  {
    name: 'webhook listen',
    summary: 'Forward signed events to a program on your machine',
    load: () => import('./commands/webhook/listen.ts').then((module) => module.command),
  },
  {
    name: 'webhook replay',
    summary: 'Send one delivery, or all events of a range, again',
    load: () => import('./commands/webhook/replay.ts').then((module) => module.command),
  },
  {
    name: 'webhook rotate-secret',
    summary: 'Rotate the signing secret of a webhook',
    load: () => import('./commands/webhook/rotate-secret.ts').then((module) => module.command),
  },
  {
    name: 'webhook update',
    summary: 'Change, disable or enable a webhook',
    load: () => import('./commands/webhook/update.ts').then((module) => module.command),
  },
  {
    name: 'whoami',
    summary: 'Show your account and the rights of your key',
    load: () => import('./commands/whoami.ts').then((module) => module.command),
  },
];
