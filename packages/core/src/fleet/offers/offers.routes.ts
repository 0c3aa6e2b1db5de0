import type { ResponseBody, Contract, PlacementBlocker } from '@millrace/contract';
import type { Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { decodeCursor, requirePrincipal, toPage, type HttpServer } from '@millrace/platform/http';
import { toCents, toNearestUsdNumber, toPercentage } from '@millrace/platform/money';
import { z } from 'zod';
import { pageById, positionFromCursor } from '../../identity/index.ts';
import type { Obstacle } from './placement-explanation.ts';
import { OfferService, type Explanation, type PricedOffer, type PlacementBody } from './offers.service.ts';
import type { ReserveOffer } from './reserve-offers.ts';

export interface OfferRoutes {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
  readonly db: Db;
  readonly clock: Timer;
}

type Operations = Contract['operations'];
type WireRentalOption = ResponseBody<Operations['listRentalOptions']>['items'][number];
type WireReserveOption = ResponseBody<Operations['listReserveOptions']>['items'][number];
type WireExplanation = ResponseBody<Operations['explainPlacement']>;

/** The offers change while somebody turns the pages, so a cursor says after which offer to go on, not at which number. */
const cursorShape = z.object({ offer: z.string().min(1).max(200) });

/** Tenants: what can be had, for how much, and why something cannot. */
export function serveOffers({ server, operations, db, clock }: OfferRoutes): void {
  const offers = new OfferService({ db, clock });
  server.serve(operations.listRentalOptions, async ({ query, context }) => {
    const { limit, cursor, ...filter } = query;
    const after = cursor === undefined ? '' : decodeCursor(cursor, cursorShape).offer;
    const all = await offers.rentalOffers(requirePrincipal(context), filter);
    const rows = sortOffers(all).filter(({ position }) => position > after);
    return toPage({
      rows,
      limit,
      toItem: ({ offer }) => toWireRentalOption(offer),
      positionOf: ({ position }) => ({ offer: position }),
    });
  });

  server.serve(operations.listReserveOptions, async ({ query, context }) => {
    const { limit, cursor, ...filter } = query;
    const after = positionFromCursor('rso', cursor);
    const all = await offers.reserveOffers(requirePrincipal(context), filter);
    const rows = all
      .map((offer) => ({ id: offer.option.id, offer }))
      .filter(({ id }) => after === null || id < after);
    return pageById(rows, limit, ({ offer }) => toWireReserveOption(offer));
  });

  server.serve(operations.explainPlacement, async ({ body, context }) => {
    const principal = requirePrincipal(context);
    return toWireExplanation(await offers.explain(principal, body), body, principal.mode);
  });
}

/** As the list of offers shows them. */
export function sortOffers(
  offers: readonly PricedOffer[],
): readonly { readonly offer: PricedOffer; readonly position: string }[] {
  return offers
    .map((offer) => ({ offer, position: positionOf(offer) }))
    .toSorted((one, other) => (one.position < other.position ? -1 : 1));
}

const COUNT_DIGITS = 6;

function positionOf({ region, machineType, gpuType, connectionType, gpuCount }: PricedOffer): string {
  const count = String(gpuCount).padStart(COUNT_DIGITS, '0');
  return `${region} ${machineType} ${gpuType} ${connectionType} ${count}`;
}

export function toWireRentalOption(offer: PricedOffer): WireRentalOption {
  const { mode: _mode, costPerHour, nodes, ...shown } = offer;
  return {
    ...shown,
    costPerHour: toNearestUsdNumber(costPerHour),
    costPerHourCents: Number(toCents(costPerHour, 'up')),
    pricePerHourNanoUsd: String(costPerHour),
    nodes: nodes.map((node) => ({ ...node })),
  };
}

export function toWireReserveOption({
  option,
  perHour,
  originalPerHour,
  enabled,
}: ReserveOffer): WireReserveOption {
  return {
    id: option.id,
    machineType: option.machineType,
    // The contract lets operators name no others.
    gpuType: option.gpuType as WireReserveOption['gpuType'],
    region: option.region as WireReserveOption['region'],
    termPeriodDays: option.termPeriodDays,
    discountPercentage: toPercentage(option.discount),
    costPerHour: toNearestUsdNumber(perHour),
    originalCostPerHour: toNearestUsdNumber(originalPerHour),
    enabled,
    earlyTerminationRefundPercentage: toPercentage(option.refund),
  };
}

function toWireExplanation(explanation: Explanation, body: PlacementBody, mode: Mode): WireExplanation {
  const { placeable, nodesConsidered, nodesFitting, costPerHour } = explanation;
  return {
    placeable,
    nodesConsidered,
    nodesFitting,
    obstacles: explanation.obstacles.map((obstacle) => ({
      code: obstacle.code,
      message: obstacleMessage(obstacle, body, mode),
      nodeCount: obstacle.nodeCount,
    })),
    costPerHour: costPerHour === null ? null : toNearestUsdNumber(costPerHour),
    capacityExpectedAt: explanation.capacityExpectedAt?.toISOString() ?? null,
    alternatives: explanation.alternatives.map(({ pool, gpuCount, totalAvailable, costPerHour: cost }) => ({
      region: pool.region,
      gpuType: pool.gpuType,
      gpuCount,
      networkType: pool.connectionType,
      costPerHour: toNearestUsdNumber(cost),
      totalAvailable,
    })),
  };
}

function obstacleMessage({ code }: Obstacle, body: PlacementBody, mode: Mode): string {
  const isMetal = body.rentalType === 'bare-metal';
  const messages: Readonly<Record<PlacementBlocker, string>> = {
    REGION_NOT_OFFERED: notOfferedMessage(body, mode),
    GPU_COUNT_NOT_OFFERED: 'Bare metal is rented by whole hosts of 8 GPUs: ask for 8, 16, 24 and so on.',
    NO_NODES_IN_REGION: `There are no hosts for ${isMetal ? 'bare metal' : 'virtual machines'} in ${body.region}: rental-options lists where there are.`,
    REGION_DISABLED: 'The operator takes no new work there at the moment.',
    CLUSTER_SILENT: 'What runs them does not answer, or has not yet, so none is rented out.',
    CLUSTER_UNWATCHED: 'Nobody has looked at them for five minutes, so none is rented out.',
    NODE_REGISTERING: 'They are new, and their hardware is not known yet.',
    NODE_OFFLINE: 'They cannot be reached.',
    NODE_DRAINING: 'They take nothing new, before maintenance or removal.',
    NODE_QUARANTINED: 'They were taken out of use, after a failure or by the operator.',
    WRONG_GPU_TYPE: `Their GPUs are not ${body.gpuType}.`,
    WRONG_NETWORK: `They are not connected by ${body.networkType}.`,
    CUDA_TOO_OLD: `Their driver does not support ${body.cudaVersion ?? 'this CUDA'}.`,
    NODE_TOO_SMALL: isMetal
      ? 'They do not have exactly 8 GPUs.'
      : `They have fewer than ${body.gpuCount} GPUs, and a virtual machine lies on one host.`,
    NO_FREE_GPUS: isMetal ? 'They are not wholly free.' : `They have fewer than ${body.gpuCount} GPUs free.`,
    FABRIC_TOO_SMALL: `They are free, but fewer of them share one fast network than ${body.gpuCount} GPUs need.`,
  };
  return messages[code];
}

function notOfferedMessage({ rentalType, region }: PlacementBody, mode: Mode): string {
  if (mode === 'test') {
    return 'Test keys rent virtual machines in mock-region, and bare metal in the regions that have it: ask for one of those.';
  }
  const what = rentalType === 'bare-metal' ? 'Bare metal' : 'Virtual machines';
  const why =
    region === 'mock-region' ? 'The mock region is for test keys' : `${what} cannot be rented in ${region}`;
  return `${why}: rental-options lists what can be rented, and where.`;
}
