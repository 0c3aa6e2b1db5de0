// Written by npm run sdk from the contract and namespaces.ts. Do not edit; a test compares it.

import type { ApiPromise } from './api-promise.ts';
import type { RequestOptions } from './options.ts';
import type { PagePromise } from './page.ts';
import type { StreamPromise } from './stream.ts';
import type { Output, Input, Item, StreamItem } from './types.ts';
import type { InstanceWaiters, RentalWaiters, VolumeWaiters } from './wait.ts';

export interface MeResource {
  /** Who the caller is and what it may do. */
  get(input?: Input<'getMe'>, options?: RequestOptions): ApiPromise<Output<'getMe'>>;
  /**
   * What the person of this key is told by mail.
   *
   * Of this person in this organisation. Live and test keys have preferences of their own: of what happens in test mode nothing is sent unless it was chosen.
   */
  getNoticePreferences(input?: Input<'getNoticePreferences'>, options?: RequestOptions): ApiPromise<Output<'getNoticePreferences'>>;
  /** Choose what the person of this key is told by mail. */
  updateNoticePreferences(input: Input<'updateNoticePreferences'>, options?: RequestOptions): ApiPromise<Output<'updateNoticePreferences'>>;
  /** List the organisations that you belong to. */
  listOrganisations(input?: Input<'listMyOrganisations'>, options?: RequestOptions): PagePromise<Item<'listMyOrganisations'>, Output<'listMyOrganisations'>>;
  /** List the invitations to your mailbox that are open. */
  listInvitations(input?: Input<'listMyInvitations'>, options?: RequestOptions): PagePromise<Item<'listMyInvitations'>, Output<'listMyInvitations'>>;
  /**
   * Accept an invitation.
   *
   * Accepting twice answers the same. In an installation without mail it needs the secret of the link that the inviter was shown.
   */
  acceptInvitation(input: Input<'acceptInvitation'>, options?: RequestOptions): ApiPromise<Output<'acceptInvitation'>>;
  /**
   * Decline an invitation.
   *
   * In an installation without mail it needs the secret of the link, as accepting does.
   */
  declineInvitation(input: Input<'declineInvitation'>, options?: RequestOptions): ApiPromise<Output<'declineInvitation'>>;
  /** Where this person is signed in. */
  listSessions(input?: Input<'listMySessions'>, options?: RequestOptions): PagePromise<Item<'listMySessions'>, Output<'listMySessions'>>;
  /**
   * Sign this person out somewhere.
   *
   * It is refused everywhere within a second. Ending the session that asks signs it out.
   */
  endSession(input: Input<'endMySession'>, options?: RequestOptions): ApiPromise<Output<'endMySession'>>;
}

export interface OrganisationsResource {
  /**
   * Create an organisation and own it.
   *
   * Asked for twice within ten minutes under the same name, the second answer is the organisation of the first. A person owns at most ten.
   */
  create(input: Input<'createOrganisation'>, options?: RequestOptions): ApiPromise<Output<'createOrganisation'>>;
  /** List the organisations the caller may act for. */
  list(input?: Input<'listOrganisations'>, options?: RequestOptions): PagePromise<Item<'listOrganisations'>, Output<'listOrganisations'>>;
  /** Read an organisation. */
  get(input: Input<'getOrganisation'>, options?: RequestOptions): ApiPromise<Output<'getOrganisation'>>;
  /** Change an organisation. */
  update(input: Input<'updateOrganisation'>, options?: RequestOptions): ApiPromise<Output<'updateOrganisation'>>;
}

export interface InvitationsResource {
  /** List the invitations that nobody has answered. */
  list(input: Input<'listInvitations'>, options?: RequestOptions): PagePromise<Item<'listInvitations'>, Output<'listInvitations'>>;
  /**
   * Invite a person to the organisation.
   *
   * Open for seven days. Inviting the same mailbox again renews the invitation, with the role of the last one. The role must not hold more than the inviter may give. In an installation without mail the answer has a link, shown once: give it to the person.
   */
  create(input: Input<'inviteMember'>, options?: RequestOptions): ApiPromise<Output<'inviteMember'>>;
  /** Take an invitation back. */
  cancel(input: Input<'cancelInvitation'>, options?: RequestOptions): ApiPromise<Output<'cancelInvitation'>>;
}

export interface MembersResource {
  /** List the members of an organisation. */
  list(input: Input<'listMembers'>, options?: RequestOptions): PagePromise<Item<'listMembers'>, Output<'listMembers'>>;
  /**
   * Change the role of a member.
   *
   * Nobody gives a role with more scopes than their own, and an organisation always keeps an owner: taking away the last one answers 409.
   */
  update(input: Input<'updateMember'>, options?: RequestOptions): ApiPromise<Output<'updateMember'>>;
  /** Remove a member and revoke the keys that person made here. */
  remove(input: Input<'removeMember'>, options?: RequestOptions): ApiPromise<Output<'removeMember'>>;
}

export interface KeysResource {
  /**
   * Create an API key.
   *
   * The key is in the answer and nowhere else, ever after. Nobody creates a key stronger than itself.
   */
  create(input: Input<'createApiKey'>, options?: RequestOptions): ApiPromise<Output<'createApiKey'>>;
  /** List API keys, newest first. */
  list(input?: Input<'listApiKeys'>, options?: RequestOptions): PagePromise<Item<'listApiKeys'>, Output<'listApiKeys'>>;
  /** Read an API key, never its secret. */
  get(input: Input<'getApiKey'>, options?: RequestOptions): ApiPromise<Output<'getApiKey'>>;
  /**
   * Replace an API key by a new one with the same rights.
   *
   * The replaced key keeps working for `overlapSeconds`, so that callers can be moved over.
   */
  rotate(input: Input<'rotateApiKey'>, options?: RequestOptions): ApiPromise<Output<'rotateApiKey'>>;
  /**
   * Revoke an API key.
   *
   * Refused everywhere within a second. Revoking twice answers the same.
   */
  revoke(input: Input<'revokeApiKey'>, options?: RequestOptions): ApiPromise<Output<'revokeApiKey'>>;
}

export interface SshKeysResource {
  /**
   * Add an SSH public key.
   *
   * OpenSSH, PEM and PuTTY (PPK) forms are read. A private key is refused and not kept; so is a weak or damaged key, with the reason.
   */
  create(input: Input<'createSshPublicKey'>, options?: RequestOptions): ApiPromise<Output<'createSshPublicKey'>>;
  /** List the caller's SSH public keys. */
  list(input?: Input<'listSshPublicKeys'>, options?: RequestOptions): PagePromise<Item<'listSshPublicKeys'>, Output<'listSshPublicKeys'>>;
  /**
   * Remove an SSH public key.
   *
   * Machines that run already keep it; new ones no longer get it.
   */
  delete(input: Input<'deleteSshPublicKey'>, options?: RequestOptions): ApiPromise<Output<'deleteSshPublicKey'>>;
}

export interface AuditLogResource {
  /** Read the audit log, newest first. */
  list(input?: Input<'listAuditLog'>, options?: RequestOptions): PagePromise<Item<'listAuditLog'>, Output<'listAuditLog'>>;
}

export interface OperationsResource {
  /** What became of a request, by its record. */
  get(input: Input<'getOperation'>, options?: RequestOptions): ApiPromise<Output<'getOperation'>>;
  /**
   * What became of a request, by its idempotency key.
   *
   * Nothing known of a key answers 404: the request never arrived, was refused, or is older than 30 days.
   */
  find(input: Input<'findOperation'>, options?: RequestOptions): ApiPromise<Output<'findOperation'>>;
}

export interface EventsResource {
  /**
   * Read the event feed, oldest first.
   *
   * Answers a page, or with `Accept: text/event-stream` stays open and sends every later event as it happens: `id` is the `seq`, so a client that reconnects with `Last-Event-ID` continues without a skip or a repeat. With `after=latest` only what happens from now on: the page is empty and tells the present position in `nextAfter`; the stream sends that position first, as an `id` without data, so that nothing is skipped if it breaks before the first event.
   */
  list(input?: Input<'listEvents'>, options?: RequestOptions): PagePromise<Item<'listEvents'>, Output<'listEvents'>>;
  /** Read the event feed, oldest first, and go on with what happens next. */
  stream(input?: Input<'listEvents'>, options?: RequestOptions): StreamPromise<StreamItem<'listEvents'>>;
}

export interface WebhooksResource {
  /**
   * Create a webhook.
   *
   * Deliveries follow Standard Webhooks 1.0 and are signed with the secret in the answer. A webhook made with a test key gets test events, one made with a live key gets live events.
   */
  create(input: Input<'createWebhook'>, options?: RequestOptions): ApiPromise<Output<'createWebhook'>>;
  /** List webhooks. */
  list(input?: Input<'listWebhooks'>, options?: RequestOptions): PagePromise<Item<'listWebhooks'>, Output<'listWebhooks'>>;
  /** Read a webhook. */
  get(input: Input<'getWebhook'>, options?: RequestOptions): ApiPromise<Output<'getWebhook'>>;
  /** Change a webhook, switch it off or on again. */
  update(input: Input<'updateWebhook'>, options?: RequestOptions): ApiPromise<Output<'updateWebhook'>>;
  /** Delete a webhook. */
  delete(input: Input<'deleteWebhook'>, options?: RequestOptions): ApiPromise<Output<'deleteWebhook'>>;
  /**
   * Give a webhook a new signing secret.
   *
   * For `overlapSeconds` every delivery carries a signature by each of the two secrets.
   */
  rotateSecret(input: Input<'rotateWebhookSecret'>, options?: RequestOptions): ApiPromise<Output<'rotateWebhookSecret'>>;
  /** List deliveries and their attempts, newest first. */
  listDeliveries(input: Input<'listWebhookDeliveries'>, options?: RequestOptions): PagePromise<Item<'listWebhookDeliveries'>, Output<'listWebhookDeliveries'>>;
  /** Send one delivery again. */
  replayDelivery(input: Input<'replayWebhookDelivery'>, options?: RequestOptions): ApiPromise<Output<'replayWebhookDelivery'>>;
  /**
   * Send every event of a range again, in order.
   *
   * Those that the webhook wants and the feed still keeps, whether they were sent before or not. Events about one thing are sent in order, one after the other.
   */
  replay(input: Input<'replayWebhook'>, options?: RequestOptions): ApiPromise<Output<'replayWebhook'>>;
}

export interface InstallationResource {
  /** What this installation offers to people who sign in. */
  get(input?: Input<'getInstallation'>, options?: RequestOptions): ApiPromise<Output<'getInstallation'>>;
}

export interface CatalogResource {
  /**
   * What can be rented and called now, without signing in.
   *
   * Offers, terms, models and machines of the live mode at list prices. Served unless the operator has closed it; then 404.
   */
  get(input?: Input<'getCatalog'>, options?: RequestOptions): ApiPromise<Output<'getCatalog'>>;
}

export interface OptionsResource {
  /** What can be rented now, and for how much. */
  list(input?: Input<'listRentalOptions'>, options?: RequestOptions): PagePromise<Item<'listRentalOptions'>, Output<'listRentalOptions'>>;
  /** The terms a rental can be reserved for. */
  listReserve(input?: Input<'listReserveOptions'>, options?: RequestOptions): PagePromise<Item<'listReserveOptions'>, Output<'listReserveOptions'>>;
  /** What a rental would cost and hold. */
  quote(input: Input<'quoteRental'>, options?: RequestOptions): ApiPromise<Output<'quoteRental'>>;
  /** Why a rental can or cannot be placed, and what could be had instead. */
  explain(input: Input<'explainPlacement'>, options?: RequestOptions): ApiPromise<Output<'explainPlacement'>>;
}

export interface RentalsResource extends RentalWaiters {
  /** Create a virtual-machine rental. */
  createVirtualMachine(input: Input<'createVirtualMachineRental'>, options?: RequestOptions): ApiPromise<Output<'createVirtualMachineRental'>>;
  /** Create a bare-metal rental. */
  createBareMetal(input: Input<'createBareMetalRental'>, options?: RequestOptions): ApiPromise<Output<'createBareMetalRental'>>;
  /** List rentals of both types that have not ended, newest first. */
  list(input?: Input<'listRentals'>, options?: RequestOptions): PagePromise<Item<'listRentals'>, Output<'listRentals'>>;
  /** List virtual-machine rentals that have not ended. */
  listVirtualMachines(input?: Input<'listVirtualMachineRentals'>, options?: RequestOptions): PagePromise<Item<'listVirtualMachineRentals'>, Output<'listVirtualMachineRentals'>>;
  /**
   * List active bare-metal rentals.
   *
   * Without a limit everything live is answered.
   */
  listBareMetal(input?: Input<'listBareMetalRentals'>, options?: RequestOptions): PagePromise<Item<'listBareMetalRentals'>, Output<'listBareMetalRentals'>>;
  /**
   * Rentals that have ended, newest first.
   *
   * `from` and `until` are about when they ended.
   */
  listHistory(input?: Input<'listRentalHistory'>, options?: RequestOptions): PagePromise<Item<'listRentalHistory'>, Output<'listRentalHistory'>>;
  /** Read a rental of either type. */
  get(input: Input<'getRental'>, options?: RequestOptions): ApiPromise<Output<'getRental'>>;
  /**
   * Change what may be changed about a rental.
   *
   * What is left out stays as it is; `tags` are replaced whole.
   */
  update(input: Input<'updateRental'>, options?: RequestOptions): ApiPromise<Output<'updateRental'>>;
  /**
   * Switch a stopped rental on.
   *
   * After a stop that released its GPUs it is placed anew, or stays off for want of capacity.
   */
  start(input: Input<'startRental'>, options?: RequestOptions): ApiPromise<Output<'startRental'>>;
  /** Switch a rental off, keeping its disk. */
  stop(input: Input<'stopRental'>, options?: RequestOptions): ApiPromise<Output<'stopRental'>>;
  /** Reboot a rental. */
  reboot(input: Input<'rebootRental'>, options?: RequestOptions): ApiPromise<Output<'rebootRental'>>;
  /** Extend a reserved term from its old end, or a time to live. */
  extend(input: Input<'extendRental'>, options?: RequestOptions): ApiPromise<Output<'extendRental'>>;
  /**
   * End a virtual-machine rental; the answer is its receipt.
   *
   * Billing stops at the accepted request. Terminating twice answers the same.
   */
  terminateVirtualMachine(input: Input<'terminateVirtualMachineRental'>, options?: RequestOptions): ApiPromise<Output<'terminateVirtualMachineRental'>>;
  /**
   * End a bare-metal rental; the answer is its receipt.
   *
   * Billing stops at the accepted request. Terminating twice answers the same.
   */
  terminateBareMetal(input: Input<'terminateBareMetalRental'>, options?: RequestOptions): ApiPromise<Output<'terminateBareMetalRental'>>;
  /**
   * What happened to a rental, oldest first.
   *
   * With `Accept: text/event-stream` it stays open and sends what happens next: `id` is the `seq`, so a client that reconnects with `Last-Event-ID` continues where it was.
   */
  listEvents(input: Input<'listRentalEvents'>, options?: RequestOptions): PagePromise<Item<'listRentalEvents'>, Output<'listRentalEvents'>>;
  /** Utilisation over time. */
  getMetrics(input: Input<'getRentalMetrics'>, options?: RequestOptions): ApiPromise<Output<'getRentalMetrics'>>;
  /** The end of the serial console. */
  getConsole(input: Input<'getRentalConsole'>, options?: RequestOptions): ApiPromise<Output<'getRentalConsole'>>;
  /** What a rental has cost, to the meter and the transfer. */
  getCost(input: Input<'getRentalCost'>, options?: RequestOptions): ApiPromise<Output<'getRentalCost'>>;
  /** Request a reservation for a large instance. */
  requestReservation(input: Input<'requestReservation'>, options?: RequestOptions): ApiPromise<Output<'requestReservation'>>;
  /** What happened to a rental, oldest first, and go on with what happens next. */
  streamEvents(input: Input<'listRentalEvents'>, options?: RequestOptions): StreamPromise<StreamItem<'listRentalEvents'>>;
}

export interface VolumesResource extends VolumeWaiters {
  /** Create a storage volume. */
  create(input: Input<'createStorageVolume'>, options?: RequestOptions): ApiPromise<Output<'createStorageVolume'>>;
  /**
   * List storage volumes.
   *
   * Without a limit everything live is answered.
   */
  list(input?: Input<'listStorageVolumes'>, options?: RequestOptions): PagePromise<Item<'listStorageVolumes'>, Output<'listStorageVolumes'>>;
  /**
   * Read a volume.
   *
   * Also one that was deleted, for as long as its data is kept.
   */
  get(input: Input<'getStorageVolume'>, options?: RequestOptions): ApiPromise<Output<'getStorageVolume'>>;
  /**
   * What a volume of a size costs.
   *
   * As the price book stands now. Nothing is reserved by asking.
   */
  quote(input: Input<'quoteStorageVolume'>, options?: RequestOptions): ApiPromise<Output<'quoteStorageVolume'>>;
  /** Relabel a volume or let it grow. */
  update(input: Input<'updateStorageVolume'>, options?: RequestOptions): ApiPromise<Output<'updateStorageVolume'>>;
  /**
   * Delete a volume; its data is kept for the retention window.
   *
   * Deleting twice answers the same. A volume that is attached answers 409.
   */
  delete(input: Input<'deleteStorageVolume'>, options?: RequestOptions): ApiPromise<Output<'deleteStorageVolume'>>;
  /** Attach a storage volume to bare-metal rentals. */
  attach(input: Input<'attachStorageVolume'>, options?: RequestOptions): ApiPromise<Output<'attachStorageVolume'>>;
  /** Detach a volume from rentals. */
  detach(input: Input<'detachStorageVolume'>, options?: RequestOptions): ApiPromise<Output<'detachStorageVolume'>>;
  /** Take a snapshot of a volume. */
  createSnapshot(input: Input<'createStorageVolumeSnapshot'>, options?: RequestOptions): ApiPromise<Output<'createStorageVolumeSnapshot'>>;
  /** List the snapshots of a volume, newest first. */
  listSnapshots(input: Input<'listStorageVolumeSnapshots'>, options?: RequestOptions): PagePromise<Item<'listStorageVolumeSnapshots'>, Output<'listStorageVolumeSnapshots'>>;
  /** Delete a snapshot. */
  deleteSnapshot(input: Input<'deleteStorageVolumeSnapshot'>, options?: RequestOptions): ApiPromise<Output<'deleteStorageVolumeSnapshot'>>;
  /**
   * Restore a snapshot into a new volume, or into its own volume while nothing is attached.
   *
   * Into a new volume: it is made on the storage node of the snapshot, is `inactive` until it holds what the snapshot holds, and costs like any other volume from when it is `active`. Into the same volume: everything written since the snapshot is lost; the volume is `inactive` meanwhile, keeps its price, and is `active` again with the content of the snapshot, or with its old content if the restore failed.
   */
  restoreSnapshot(input: Input<'restoreStorageVolumeSnapshot'>, options?: RequestOptions): ApiPromise<Output<'restoreStorageVolumeSnapshot'>>;
}

export interface MarketplaceInstancesResource extends InstanceWaiters {
  /** Create a marketplace instance. */
  create(input: Input<'createMarketplaceInstance'>, options?: RequestOptions): ApiPromise<Output<'createMarketplaceInstance'>>;
  /** List marketplace instances. */
  list(input?: Input<'listMarketplaceInstances'>, options?: RequestOptions): PagePromise<Item<'listMarketplaceInstances'>, Output<'listMarketplaceInstances'>>;
  /** List marketplace instances. */
  listByPost(input?: Input<'listMarketplaceInstancesByPost'>, options?: RequestOptions): PagePromise<Item<'listMarketplaceInstancesByPost'>, Output<'listMarketplaceInstancesByPost'>>;
  /**
   * List marketplace instances that have ended.
   *
   * The last to end first, 1000 at a time unless fewer are asked for.
   */
  listHistory(input?: Input<'listMarketplaceInstanceHistory'>, options?: RequestOptions): PagePromise<Item<'listMarketplaceInstanceHistory'>, Output<'listMarketplaceInstanceHistory'>>;
  /**
   * One marketplace instance: how it came up, what it costs and has cost.
   *
   * Also after it has ended.
   */
  get(input: Input<'getMarketplaceInstance'>, options?: RequestOptions): ApiPromise<Output<'getMarketplaceInstance'>>;
  /**
   * Terminate a marketplace instance.
   *
   * Terminating again answers success again.
   */
  terminate(input: Input<'terminateMarketplaceInstance'>, options?: RequestOptions): ApiPromise<Output<'terminateMarketplaceInstance'>>;
}

export interface MarketplaceResource {
  /**
   * List all available machines.
   *
   * Without a limit the whole list is answered, compressed for those who take gzip. Unknown filters are named in `X-Ignored-Filters`. Machines in mock-region, where test keys work, are shown only to those who filter by that region.
   */
  list(input?: Input<'listMarketplaceMachines'>, options?: RequestOptions): PagePromise<Item<'listMarketplaceMachines'>, Output<'listMarketplaceMachines'>>;
  readonly instances: MarketplaceInstancesResource;
}

export interface BalanceResource {
  /** The balance, what is held of it and how long it lasts. */
  get(input?: Input<'getBalance'>, options?: RequestOptions): ApiPromise<Output<'getBalance'>>;
  /** The current balance. */
  getCredits(input?: Input<'getCurrentBalance'>, options?: RequestOptions): ApiPromise<Output<'getCurrentBalance'>>;
  /**
   * The deposits of the organisation, newest first.
   *
   * Payments and grants, the newest 1000 of them; `GET /v2/customer/ledger` lists all of them.
   */
  listPurchases(input?: Input<'listPurchaseHistory'>, options?: RequestOptions): PagePromise<Item<'listPurchaseHistory'>, Output<'listPurchaseHistory'>>;
}

export interface LedgerResource {
  /** Every change of the balance with its cause, newest first. */
  list(input?: Input<'listLedgerEntries'>, options?: RequestOptions): PagePromise<Item<'listLedgerEntries'>, Output<'listLedgerEntries'>>;
}

export interface InvoicesResource {
  /**
   * List invoices, newest first.
   *
   * One for each calendar month (UTC) in which something was charged or given back, made some hours after its end. Test keys have none: test mode is free.
   */
  list(input?: Input<'listInvoices'>, options?: RequestOptions): PagePromise<Item<'listInvoices'>, Output<'listInvoices'>>;
  /** Read an invoice with its lines. */
  get(input: Input<'getInvoice'>, options?: RequestOptions): ApiPromise<Output<'getInvoice'>>;
  /** An invoice as a PDF file. */
  getPdf(input: Input<'getInvoicePdf'>, options?: RequestOptions): ApiPromise<Output<'getInvoicePdf'>>;
}

export interface UsageResource {
  /**
   * What was used and what it cost, summed up.
   *
   * Days are days in UTC and come newest first; the other groups come in the order of their names. Without `from`, the 31 days before `until` are summed up, and never more than 366 days.
   */
  list(input?: Input<'getUsage'>, options?: RequestOptions): PagePromise<Item<'getUsage'>, Output<'getUsage'>>;
  /** How one inference request ran and what it cost. */
  getRequest(input: Input<'getRequestUsage'>, options?: RequestOptions): ApiPromise<Output<'getRequestUsage'>>;
  /**
   * What inference requests cost, in nano-USD.
   *
   * Ids come from the `X-Inference-Request-Id` header. Unknown, foreign and still running ids are left out.
   */
  getRequestCosts(input: Input<'getRequestCost'>, options?: RequestOptions): ApiPromise<Output<'getRequestCost'>>;
  /**
   * The requests that one ledger line of inference sums.
   *
   * A ledger line of inference has the cause `inference` and the id of a batch. The costs of the requests of that batch sum to the amount of the line. Oldest first.
   */
  listBatchRequests(input: Input<'listBatchRequests'>, options?: RequestOptions): PagePromise<Item<'listBatchRequests'>, Output<'listBatchRequests'>>;
  /**
   * Every cost as CSV, in the columns of FOCUS 1.2.
   *
   * One row for each day (UTC), thing, unit and API key, oldest first; `BilledCost` comes to what the ledger charged less what was given back, to the nano-USD. Without `from`, the month of `until` so far; at most 366 days. An answer that breaks off is not complete: its connection ends without the last chunk.
   */
  exportCosts(input?: Input<'exportCosts'>, options?: RequestOptions): ApiPromise<Output<'exportCosts'>>;
}

export interface LimitsResource {
  /** Rate limits and quotas of the organisation, and how much of each is used. */
  get(input?: Input<'getLimits'>, options?: RequestOptions): ApiPromise<Output<'getLimits'>>;
}

export interface BudgetsResource {
  /**
   * Create a budget.
   *
   * An organisation has at most 50 budgets, and with the limits of its keys they come to at most 100000000 USD. Periods are those of UTC: whole hours, days, weeks from Monday and months.
   */
  create(input: Input<'createBudget'>, options?: RequestOptions): ApiPromise<Output<'createBudget'>>;
  /** List budgets. */
  list(input?: Input<'listBudgets'>, options?: RequestOptions): PagePromise<Item<'listBudgets'>, Output<'listBudgets'>>;
  /** Change a budget. */
  update(input: Input<'updateBudget'>, options?: RequestOptions): ApiPromise<Output<'updateBudget'>>;
  /** Delete a budget. */
  delete(input: Input<'deleteBudget'>, options?: RequestOptions): ApiPromise<Output<'deleteBudget'>>;
}

export interface TopUpsResource {
  /**
   * Start a top-up and get the page to pay on.
   *
   * The balance changes when the payment is confirmed, which `balance.topped_up` announces; coming back to `successUrl` proves nothing. The same `Idempotency-Key` always leads to the same payment page.
   */
  create(input: Input<'createTopUp'>, options?: RequestOptions): ApiPromise<Output<'createTopUp'>>;
  /** List top-ups, newest first. */
  list(input?: Input<'listTopUps'>, options?: RequestOptions): PagePromise<Item<'listTopUps'>, Output<'listTopUps'>>;
  /** Read a top-up. */
  get(input: Input<'getTopUp'>, options?: RequestOptions): ApiPromise<Output<'getTopUp'>>;
}

export interface ModelsResource {
  /** List the models that can be called. */
  list(input?: Input<'listModels'>, options?: RequestOptions): PagePromise<Item<'listModels'>, Output<'listModels'>>;
  /**
   * The price of a model.
   *
   * A slash in the name is sent percent-encoded.
   */
  getPrice(input: Input<'getModelPrice'>, options?: RequestOptions): ApiPromise<Output<'getModelPrice'>>;
}

export interface ChatResource {
  /**
   * Complete a chat.
   *
   * With `stream: true` the answer is a stream of chunks that ends with `data: [DONE]`.
   */
  create(input: Input<'createChatCompletion'> & { readonly stream: true }, options?: RequestOptions): StreamPromise<StreamItem<'createChatCompletion'>>;
  /**
   * Complete a chat.
   *
   * With `stream: true` the answer is a stream of chunks that ends with `data: [DONE]`.
   */
  create(input: Input<'createChatCompletion'> & { readonly stream?: false | null | undefined }, options?: RequestOptions): ApiPromise<Output<'createChatCompletion'>>;
}

export interface CompletionsResource {
  /** Complete a text. */
  create(input: Input<'createCompletion'> & { readonly stream: true }, options?: RequestOptions): StreamPromise<StreamItem<'createCompletion'>>;
  /** Complete a text. */
  create(input: Input<'createCompletion'> & { readonly stream?: false | null | undefined }, options?: RequestOptions): ApiPromise<Output<'createCompletion'>>;
}

export interface ImagesResource {
  /** Generate images. */
  create(input: Input<'createImages'>, options?: RequestOptions): ApiPromise<Output<'createImages'>>;
  /** Generate images. */
  generate(input: Input<'generateImage'>, options?: RequestOptions): ApiPromise<Output<'generateImage'>>;
}

export interface AudioResource {
  /** Speak a text. */
  createSpeech(input: Input<'createSpeech'>, options?: RequestOptions): ApiPromise<Output<'createSpeech'>>;
  /** Generate speech. */
  generate(input: Input<'generateAudio'>, options?: RequestOptions): ApiPromise<Output<'generateAudio'>>;
}

export interface DocumentsResource {
  /** The machine-readable description of the v2 interface. */
  getOpenapi(input?: Input<'getOpenapi'>, options?: RequestOptions): ApiPromise<Output<'getOpenapi'>>;
  /**
   * One of the OpenAPI documents, without a key.
   *
   * Served only where the operator has switched it on; elsewhere 404.
   */
  get(input: Input<'getOpenDocument'>, options?: RequestOptions): ApiPromise<Output<'getOpenDocument'>>;
}

export interface SupplierMachinesResource {
  /** List own machines. */
  list(input?: Input<'supplierListMachines'>, options?: RequestOptions): PagePromise<Item<'supplierListMachines'>, Output<'supplierListMachines'>>;
  /** Read a machine. */
  get(input: Input<'supplierGetMachine'>, options?: RequestOptions): ApiPromise<Output<'supplierGetMachine'>>;
  /**
   * What became of a machine, and what went wrong on it.
   *
   * The newest 100, newest first.
   */
  listHistory(input: Input<'supplierGetMachineHistory'>, options?: RequestOptions): PagePromise<Item<'supplierGetMachineHistory'>, Output<'supplierGetMachineHistory'>>;
  /**
   * Price, list or unlist a machine.
   *
   * What is rented keeps its frozen price.
   */
  update(input: Input<'supplierUpdateMachine'>, options?: RequestOptions): ApiPromise<Output<'supplierUpdateMachine'>>;
  /** Take no new rentals on a machine. */
  drain(input: Input<'supplierDrainMachine'>, options?: RequestOptions): ApiPromise<Output<'supplierDrainMachine'>>;
  /** Put a machine back into use that was drained by its supplier. */
  resume(input: Input<'supplierResumeMachine'>, options?: RequestOptions): ApiPromise<Output<'supplierResumeMachine'>>;
  /** Withdraw an empty machine. */
  withdraw(input: Input<'supplierWithdrawMachine'>, options?: RequestOptions): ApiPromise<Output<'supplierWithdrawMachine'>>;
}

export interface SupplierJoinTokensResource {
  /** Make a token with which machines join. */
  create(input: Input<'supplierCreateJoinToken'>, options?: RequestOptions): ApiPromise<Output<'supplierCreateJoinToken'>>;
  /** List join tokens, never the tokens themselves. */
  list(input?: Input<'supplierListJoinTokens'>, options?: RequestOptions): PagePromise<Item<'supplierListJoinTokens'>, Output<'supplierListJoinTokens'>>;
  /** Revoke a join token; machines that joined stay. */
  revoke(input: Input<'supplierRevokeJoinToken'>, options?: RequestOptions): ApiPromise<Output<'supplierRevokeJoinToken'>>;
}

export interface SupplierEnrolmentsResource {
  /** How machines that asked to join stand, newest first. */
  list(input?: Input<'supplierListEnrolments'>, options?: RequestOptions): PagePromise<Item<'supplierListEnrolments'>, Output<'supplierListEnrolments'>>;
  /** How one machine that asked to join stands. */
  get(input: Input<'supplierGetEnrolment'>, options?: RequestOptions): ApiPromise<Output<'supplierGetEnrolment'>>;
}

export interface SupplierEarningsResource {
  /**
   * What the machines earned.
   *
   * Since the beginning of the month (UTC) unless a period is said; no period is longer than 366 days.
   */
  get(input?: Input<'supplierGetEarnings'>, options?: RequestOptions): ApiPromise<Output<'supplierGetEarnings'>>;
}

export interface SupplierStatementsResource {
  /** List statements, newest first. */
  list(input?: Input<'supplierListStatements'>, options?: RequestOptions): PagePromise<Item<'supplierListStatements'>, Output<'supplierListStatements'>>;
  /**
   * Read a statement with its lines.
   *
   * What was posted in a month (UTC), by machine. Time of its last minutes may be in the next.
   */
  get(input: Input<'supplierGetStatement'>, options?: RequestOptions): ApiPromise<Output<'supplierGetStatement'>>;
}

export interface SupplierPayoutsResource {
  /** List payouts, newest first. */
  list(input?: Input<'supplierListPayouts'>, options?: RequestOptions): PagePromise<Item<'supplierListPayouts'>, Output<'supplierListPayouts'>>;
  /**
   * Ask for a payout.
   *
   * It is set aside until the operator has paid or rejected it. More than is payable answers 409.
   */
  request(input: Input<'supplierRequestPayout'>, options?: RequestOptions): ApiPromise<Output<'supplierRequestPayout'>>;
}

export interface SupplierResource {
  /** Apply to be a supplier. */
  apply(input: Input<'supplierApply'>, options?: RequestOptions): ApiPromise<Output<'supplierApply'>>;
  /** How the application or account stands. */
  getAccount(input?: Input<'supplierGetAccount'>, options?: RequestOptions): ApiPromise<Output<'supplierGetAccount'>>;
  readonly machines: SupplierMachinesResource;
  readonly joinTokens: SupplierJoinTokensResource;
  readonly enrolments: SupplierEnrolmentsResource;
  readonly earnings: SupplierEarningsResource;
  readonly statements: SupplierStatementsResource;
  readonly payouts: SupplierPayoutsResource;
}

export interface AdminOrganisationsResource {
  /** List every organisation. */
  list(input?: Input<'adminListOrganisations'>, options?: RequestOptions): PagePromise<Item<'adminListOrganisations'>, Output<'adminListOrganisations'>>;
  /**
   * Create an organisation with its first owner.
   *
   * A person with that email address becomes the owner; one who is not known yet is created.
   */
  create(input: Input<'adminCreateOrganisation'>, options?: RequestOptions): ApiPromise<Output<'adminCreateOrganisation'>>;
  /** Read any organisation. */
  get(input: Input<'adminGetOrganisation'>, options?: RequestOptions): ApiPromise<Output<'adminGetOrganisation'>>;
  /** List the people in any organisation. */
  listMembers(input: Input<'adminListMembers'>, options?: RequestOptions): PagePromise<Item<'adminListMembers'>, Output<'adminListMembers'>>;
  /** Put a person into an organisation. */
  addMember(input: Input<'adminAddMember'>, options?: RequestOptions): ApiPromise<Output<'adminAddMember'>>;
  /** Read the balance of any organisation. */
  getBalance(input: Input<'adminGetBalance'>, options?: RequestOptions): ApiPromise<Output<'adminGetBalance'>>;
  /**
   * Suspend an organisation: its keys are refused within a second.
   *
   * Suspending twice answers the same. `runningWork: stop` ends its rentals and instances, within seconds and without any rest of a term being owed; volumes are kept. What `keep` left running is ended by suspending again with `stop`.
   */
  suspend(input: Input<'adminSuspendOrganisation'>, options?: RequestOptions): ApiPromise<Output<'adminSuspendOrganisation'>>;
  /** Lift the suspension of an organisation. */
  resume(input: Input<'adminResumeOrganisation'>, options?: RequestOptions): ApiPromise<Output<'adminResumeOrganisation'>>;
  /**
   * Give an organisation credit.
   *
   * At most 10000000 USD at once.
   */
  grant(input: Input<'adminGrant'>, options?: RequestOptions): ApiPromise<Output<'adminGrant'>>;
  /**
   * Correct a balance, up or down.
   *
   * A correction never takes a balance below its floor: 402. At most 10000000 USD at once.
   */
  adjust(input: Input<'adminAdjust'>, options?: RequestOptions): ApiPromise<Output<'adminAdjust'>>;
  /**
   * Give back part or all of a charge.
   *
   * The refunds of a charge together never exceed it: 409.
   */
  refund(input: Input<'adminRefund'>, options?: RequestOptions): ApiPromise<Output<'adminRefund'>>;
  /**
   * Say how far below zero a balance may go.
   *
   * An overdraft that is in use cannot be taken away: 409. At most 10000000 USD.
   */
  setOverdraft(input: Input<'adminSetOverdraft'>, options?: RequestOptions): ApiPromise<Output<'adminSetOverdraft'>>;
  /** Admit new work again after a disputed payment was settled. */
  unfreeze(input: Input<'adminUnfreeze'>, options?: RequestOptions): ApiPromise<Output<'adminUnfreeze'>>;
}

export interface AdminEntitlementsResource {
  /** List the discounts an organisation is entitled to. */
  list(input: Input<'adminListEntitlements'>, options?: RequestOptions): PagePromise<Item<'adminListEntitlements'>, Output<'adminListEntitlements'>>;
  /** Entitle an organisation to a discount. */
  create(input: Input<'adminCreateEntitlement'>, options?: RequestOptions): ApiPromise<Output<'adminCreateEntitlement'>>;
  /** Withdraw an entitlement; what runs keeps its frozen price. */
  revoke(input: Input<'adminRevokeEntitlement'>, options?: RequestOptions): ApiPromise<Output<'adminRevokeEntitlement'>>;
}

export interface AdminAuditLogResource {
  /** Read the audit log of every organisation, newest first. */
  list(input?: Input<'adminListAuditLog'>, options?: RequestOptions): PagePromise<Item<'adminListAuditLog'>, Output<'adminListAuditLog'>>;
}

export interface AdminAuditReportsResource {
  /**
   * Audits of the books that were made, newest first.
   *
   * Kept for 90 days.
   */
  list(input?: Input<'adminListAuditReports'>, options?: RequestOptions): PagePromise<Item<'adminListAuditReports'>, Output<'adminListAuditReports'>>;
  /** What one audit looked at and found. */
  get(input: Input<'adminGetAuditReport'>, options?: RequestOptions): ApiPromise<Output<'adminGetAuditReport'>>;
}

export interface AdminTransfersResource {
  /** List transfers of every organisation, newest first. */
  list(input?: Input<'adminListTransfers'>, options?: RequestOptions): PagePromise<Item<'adminListTransfers'>, Output<'adminListTransfers'>>;
  /** Undo a transfer by its exact opposite. */
  reverse(input: Input<'adminReverse'>, options?: RequestOptions): ApiPromise<Output<'adminReverse'>>;
}

export interface AdminPricesResource {
  /** List the price book, newest first. */
  list(input?: Input<'adminListPrices'>, options?: RequestOptions): PagePromise<Item<'adminListPrices'>, Output<'adminListPrices'>>;
  /**
   * Set a price from a moment on.
   *
   * The price book only grows: what runs keeps the price frozen when it began.
   */
  create(input: Input<'adminCreatePrice'>, options?: RequestOptions): ApiPromise<Output<'adminCreatePrice'>>;
  /**
   * End a price, so that nothing new is sold by it.
   *
   * The price that it covered counts again: an older one for the same subject, or one that is less specific.
   */
  end(input: Input<'adminEndPrice'>, options?: RequestOptions): ApiPromise<Output<'adminEndPrice'>>;
}

export interface AdminReserveOptionsResource {
  /** List the reserve options on offer. */
  list(input?: Input<'adminListReserveOptions'>, options?: RequestOptions): PagePromise<Item<'adminListReserveOptions'>, Output<'adminListReserveOptions'>>;
  /**
   * Offer a reserved term.
   *
   * It replaces the option on offer for the same machine type, GPU type, region and term.
   */
  create(input: Input<'adminCreateReserveOption'>, options?: RequestOptions): ApiPromise<Output<'adminCreateReserveOption'>>;
}

export interface AdminProvidersResource {
  /** List the configured providers and their regions. */
  list(input?: Input<'adminListProviders'>, options?: RequestOptions): PagePromise<Item<'adminListProviders'>, Output<'adminListProviders'>>;
  /**
   * Switch a provider or some of its regions on or off.
   *
   * Switching off stops new rentals only.
   */
  update(input: Input<'adminUpdateProvider'>, options?: RequestOptions): ApiPromise<Output<'adminUpdateProvider'>>;
}

export interface AdminClustersResource {
  /**
   * List clusters.
   *
   * Removed ones are listed only when asked for by their status.
   */
  list(input?: Input<'adminListClusters'>, options?: RequestOptions): PagePromise<Item<'adminListClusters'>, Output<'adminListClusters'>>;
  /**
   * Register the endpoint of a compute engine.
   *
   * Its nodes and GPUs are read from the engine as soon as a worker reaches it.
   */
  create(input: Input<'adminCreateCluster'>, options?: RequestOptions): ApiPromise<Output<'adminCreateCluster'>>;
  /** Forget a cluster on which nothing runs any more. */
  remove(input: Input<'adminRemoveCluster'>, options?: RequestOptions): ApiPromise<Output<'adminRemoveCluster'>>;
}

export interface AdminNodesResource {
  /**
   * List nodes with their GPUs.
   *
   * Removed ones are listed only when asked for by their status.
   */
  list(input?: Input<'adminListNodes'>, options?: RequestOptions): PagePromise<Item<'adminListNodes'>, Output<'adminListNodes'>>;
  /** Read a node. */
  get(input: Input<'adminGetNode'>, options?: RequestOptions): ApiPromise<Output<'adminGetNode'>>;
  /** Place nothing new on a node; what runs stays. */
  drain(input: Input<'adminDrainNode'>, options?: RequestOptions): ApiPromise<Output<'adminDrainNode'>>;
  /** Put a drained or quarantined node back into use. */
  resume(input: Input<'adminResumeNode'>, options?: RequestOptions): ApiPromise<Output<'adminResumeNode'>>;
  /** Take a node out of use until somebody has looked at it. */
  quarantine(input: Input<'adminQuarantineNode'>, options?: RequestOptions): ApiPromise<Output<'adminQuarantineNode'>>;
  /**
   * Remove an empty node from the fleet.
   *
   * Drain it first. Its name is free for a new node once the engine has stopped listing it.
   */
  remove(input: Input<'adminRemoveNode'>, options?: RequestOptions): ApiPromise<Output<'adminRemoveNode'>>;
  /**
   * Remove a node whose host never returns, and end what is on it.
   *
   * Refused with `HOST_ANSWERS` while its host answers. Every machine on the node is written off, then the node is removed. The node stays quarantined while a rental that also has machines on other hosts holds its GPUs: repeat the call when those machines are gone.
   */
  writeOff(input: Input<'adminWriteOffNode'>, options?: RequestOptions): ApiPromise<Output<'adminWriteOffNode'>>;
  /** List what happened to a node, newest first. */
  listTransitions(input: Input<'adminListNodeTransitions'>, options?: RequestOptions): PagePromise<Item<'adminListNodeTransitions'>, Output<'adminListNodeTransitions'>>;
  /**
   * Take a single GPU out of use, or put it back.
   *
   * Whoever rents it keeps it; it is not sold again until it is put back.
   */
  markGpu(input: Input<'adminMarkGpu'>, options?: RequestOptions): ApiPromise<Output<'adminMarkGpu'>>;
}

export interface AdminMaintenanceWindowsResource {
  /** List maintenance windows, newest first. */
  list(input?: Input<'adminListMaintenanceWindows'>, options?: RequestOptions): PagePromise<Item<'adminListMaintenanceWindows'>, Output<'adminListMaintenanceWindows'>>;
  /**
   * Announce maintenance; the time a machine is away is not billed.
   *
   * The organisations that have something on the nodes are told at once, and again when it begins and ends. The nodes take nothing new from `drainBeforeSeconds` before the start until the end, and are then put back into use, unless somebody drained or quarantined them meanwhile.
   */
  create(input: Input<'adminCreateMaintenanceWindow'>, options?: RequestOptions): ApiPromise<Output<'adminCreateMaintenanceWindow'>>;
  /** Call off announced maintenance, or end it early. */
  cancel(input: Input<'adminCancelMaintenanceWindow'>, options?: RequestOptions): ApiPromise<Output<'adminCancelMaintenanceWindow'>>;
}

export interface AdminReservationRequestsResource {
  /** List requests for large reservations, newest first. */
  list(input?: Input<'adminListReservationRequests'>, options?: RequestOptions): PagePromise<Item<'adminListReservationRequests'>, Output<'adminListReservationRequests'>>;
}

export interface AdminRentalsResource {
  /**
   * List rentals and instances of every organisation, newest first.
   *
   * Ended ones are listed only when asked for by their status.
   */
  list(input?: Input<'adminListRentals'>, options?: RequestOptions): PagePromise<Item<'adminListRentals'>, Output<'adminListRentals'>>;
  /** Hand over a private cloud under contract; it is never metered by GPU. */
  createPrivateCloud(input: Input<'adminCreatePrivateCloudRental'>, options?: RequestOptions): ApiPromise<Output<'adminCreatePrivateCloudRental'>>;
  /** End any rental. */
  terminate(input: Input<'adminTerminateRental'>, options?: RequestOptions): ApiPromise<Output<'adminTerminateRental'>>;
  /**
   * End a rental whose host never returns.
   *
   * Refused with `HOST_ANSWERS` while the host of each of its machines answers. The machines and their data are declared lost, the rental ends, and their nodes are quarantined. If the host returns, its machines are removed as orphans before the node can be resumed. Repeating the call changes nothing.
   */
  writeOff(input: Input<'adminWriteOffRental'>, options?: RequestOptions): ApiPromise<Output<'adminWriteOffRental'>>;
}

export interface AdminVolumesResource {
  /**
   * End a volume whose storage node never returns.
   *
   * Refused with `HOST_ANSWERS` while its storage node answers. The data and snapshots are declared lost without retention, rentals are detached, and the volume is deleted. If the storage node returns, it deletes what it still has of the volume as soon as a worker has reached it.
   */
  writeOff(input: Input<'adminWriteOffVolume'>, options?: RequestOptions): ApiPromise<Output<'adminWriteOffVolume'>>;
}

export interface AdminModelsResource {
  /** List every model of the catalog, also those switched off. */
  list(input?: Input<'adminListModels'>, options?: RequestOptions): PagePromise<Item<'adminListModels'>, Output<'adminListModels'>>;
  /** Add a model to the catalog. */
  create(input: Input<'adminCreateModel'>, options?: RequestOptions): ApiPromise<Output<'adminCreateModel'>>;
  /**
   * Change a model, switch it off or on.
   *
   * A slash in the name is sent percent-encoded.
   */
  update(input: Input<'adminUpdateModel'>, options?: RequestOptions): ApiPromise<Output<'adminUpdateModel'>>;
}

export interface AdminDeploymentsResource {
  /** List deployments with their health. */
  list(input?: Input<'adminListDeployments'>, options?: RequestOptions): PagePromise<Item<'adminListDeployments'>, Output<'adminListDeployments'>>;
  /** Register an engine that serves a model. */
  create(input: Input<'adminCreateDeployment'>, options?: RequestOptions): ApiPromise<Output<'adminCreateDeployment'>>;
  /** Change a deployment, switch it off or on. */
  update(input: Input<'adminUpdateDeployment'>, options?: RequestOptions): ApiPromise<Output<'adminUpdateDeployment'>>;
  /** Forget a deployment; running streams finish. */
  delete(input: Input<'adminDeleteDeployment'>, options?: RequestOptions): ApiPromise<Output<'adminDeleteDeployment'>>;
}

export interface AdminSuppliersResource {
  /** List suppliers and applications. */
  list(input?: Input<'adminListSuppliers'>, options?: RequestOptions): PagePromise<Item<'adminListSuppliers'>, Output<'adminListSuppliers'>>;
  /**
   * Approve a supplier.
   *
   * The fee counts for what is rented from now on. Approving again changes the fee, and ends a suspension.
   */
  approve(input: Input<'adminApproveSupplier'>, options?: RequestOptions): ApiPromise<Output<'adminApproveSupplier'>>;
  /**
   * Reject an application, or suspend a supplier that was approved.
   *
   * Nothing of a suspended supplier is shown or rented anew; what is rented goes on.
   */
  reject(input: Input<'adminRejectSupplier'>, options?: RequestOptions): ApiPromise<Output<'adminRejectSupplier'>>;
}

export interface AdminMachinesResource {
  /** List suppliers’ machines. */
  list(input?: Input<'adminListMachines'>, options?: RequestOptions): PagePromise<Item<'adminListMachines'>, Output<'adminListMachines'>>;
  /** Approve a supplier’s machine for the marketplace. */
  approve(input: Input<'adminApproveMachine'>, options?: RequestOptions): ApiPromise<Output<'adminApproveMachine'>>;
  /**
   * Refuse a supplier’s machine, also one that was approved.
   *
   * It is no longer shown or rented; what is rented on it goes on.
   */
  reject(input: Input<'adminRejectMachine'>, options?: RequestOptions): ApiPromise<Output<'adminRejectMachine'>>;
}

export interface AdminPayoutsResource {
  /** List payouts of all suppliers, newest first. */
  list(input?: Input<'adminListPayouts'>, options?: RequestOptions): PagePromise<Item<'adminListPayouts'>, Output<'adminListPayouts'>>;
  /**
   * Record a payout as paid, or reject it.
   *
   * Once: the same outcome again answers the payout as it is, the other one 409. The reason of a rejection is shown to the supplier.
   */
  settle(input: Input<'adminSettlePayout'>, options?: RequestOptions): ApiPromise<Output<'adminSettlePayout'>>;
}

export interface AdminResource {
  readonly organisations: AdminOrganisationsResource;
  readonly entitlements: AdminEntitlementsResource;
  readonly auditLog: AdminAuditLogResource;
  readonly auditReports: AdminAuditReportsResource;
  readonly transfers: AdminTransfersResource;
  readonly prices: AdminPricesResource;
  readonly reserveOptions: AdminReserveOptionsResource;
  readonly providers: AdminProvidersResource;
  readonly clusters: AdminClustersResource;
  readonly nodes: AdminNodesResource;
  readonly maintenanceWindows: AdminMaintenanceWindowsResource;
  readonly reservationRequests: AdminReservationRequestsResource;
  readonly rentals: AdminRentalsResource;
  readonly volumes: AdminVolumesResource;
  readonly models: AdminModelsResource;
  readonly deployments: AdminDeploymentsResource;
  readonly suppliers: AdminSuppliersResource;
  readonly machines: AdminMachinesResource;
  readonly payouts: AdminPayoutsResource;
}

/** The nouns of a client. */
export interface Resources {
  readonly me: MeResource;
  readonly organisations: OrganisationsResource;
  readonly invitations: InvitationsResource;
  readonly members: MembersResource;
  readonly keys: KeysResource;
  readonly sshKeys: SshKeysResource;
  readonly auditLog: AuditLogResource;
  readonly operations: OperationsResource;
  readonly events: EventsResource;
  readonly webhooks: WebhooksResource;
  readonly installation: InstallationResource;
  readonly catalog: CatalogResource;
  readonly options: OptionsResource;
  readonly rentals: RentalsResource;
  readonly volumes: VolumesResource;
  readonly marketplace: MarketplaceResource;
  readonly balance: BalanceResource;
  readonly ledger: LedgerResource;
  readonly invoices: InvoicesResource;
  readonly usage: UsageResource;
  readonly limits: LimitsResource;
  readonly budgets: BudgetsResource;
  readonly topUps: TopUpsResource;
  readonly models: ModelsResource;
  readonly chat: ChatResource;
  readonly completions: CompletionsResource;
  readonly images: ImagesResource;
  readonly audio: AudioResource;
  readonly documents: DocumentsResource;
  readonly supplier: SupplierResource;
  readonly admin: AdminResource;
}
