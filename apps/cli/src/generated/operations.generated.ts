// Written by `npm run cli:generate` from the contract. Do not edit.
import type { GeneratedOperation } from './table.ts';

export const generatedOperations: Readonly<Record<string, GeneratedOperation>> = {
  "adminGetAuditReport": {
    "name": "admin audit-report get",
    "summary": "Read one audit with its findings",
    "params": [
      {
        "key": "reportId",
        "describe": "the id of an audit report"
      }
    ],
    "fields": [],
    "responseKind": "record",
    "json": [
      "id",
      "kind",
      "snapshotAt",
      "since",
      "durationMs",
      "isClean",
      "errors",
      "notices",
      "checks",
      "findings"
    ],
    "columns": [
      "id",
      "kind",
      "snapshotAt",
      "since",
      "durationMs",
      "isClean",
      "errors"
    ]
  },
  "adminListAuditReports": {
    "name": "admin audit-report list",
    "summary": "List ledger audits, newest first",
    "description": "Kept for 90 days.",
    "params": [],
    "fields": [
      {
        "key": "kind",
        "flag": "kind",
        "type": "text",
        "describe": "`full` checks everything, `incremental` only rows written since the last clean audit",
        "choices": [
          "full",
          "incremental"
        ]
      },
      {
        "key": "clean",
        "flag": "clean",
        "type": "text",
        "describe": "only audits without errors, or only audits with errors",
        "choices": [
          "true",
          "false"
        ]
      }
    ],
    "responseKind": "list",
    "json": [
      "id",
      "kind",
      "snapshotAt",
      "since",
      "durationMs",
      "isClean",
      "errors",
      "notices"
    ],
    "columns": [
      "id",
      "kind",
      "snapshotAt",
      "since",
      "durationMs",
      "isClean",
      "errors"
    ]
  },
  "adminCreateCluster": {
    "name": "admin cluster create",
    "summary": "Register the endpoint of a compute engine",
    "description": "Its nodes and GPUs are read from the engine as soon as a worker reaches it.",
    "params": [],
    "fields": [
      {
        "key": "name",
        "flag": "name",
        "type": "text",
        "describe": "the name",
        "required": true
      },
      {
        "key": "providerId",
        "flag": "provider-id",
        "type": "text",
        "describe": "the provider",
        "required": true
      },
      {
        "key": "region",
        "flag": "region",
        "type": "text",
        "describe": "the region",
        "required": true
      },
      {
        "key": "driver",
        "flag": "driver",
        "type": "text",
        "describe": "the driver",
        "choices": [
          "incus",
          "ironic",
          "mock"
        ],
        "required": true
      },
      {
        "key": "endpoint",
        "flag": "endpoint",
        "type": "text",
        "describe": "the address of its engine",
        "required": true
      },
      {
        "key": "credentialRef",
        "flag": "credential-ref",
        "type": "text",
        "describe": "the name of a secret that the installation has, never the secret"
      },
      {
        "key": "offer",
        "flag": "offer",
        "type": "text",
        "describe": "the offer kind of its nodes",
        "choices": [
          "virtual-machine",
          "bare-metal",
          "marketplace"
        ]
      },
      {
        "key": "connectionType",
        "flag": "connection-type",
        "type": "text",
        "describe": "how its nodes are connected, unless the engine reports another connection for a node",
        "choices": [
          "ethernet",
          "infiniband"
        ]
      },
      {
        "key": "settings",
        "flag": "settings",
        "type": "json",
        "describe": "settings of the driver beyond the endpoint"
      },
      {
        "key": "reason",
        "flag": "reason",
        "type": "text",
        "describe": "a reason, for the audit log"
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "id",
      "name",
      "providerId",
      "region",
      "driver",
      "endpoint",
      "credentialRef",
      "settings",
      "offer",
      "connectionType",
      "origin",
      "status",
      "statusReason",
      "statusSince",
      "engine",
      "lastSeenAt",
      "nodeCount",
      "createdAt"
    ],
    "columns": [
      "id",
      "name",
      "status",
      "providerId",
      "region",
      "driver",
      "endpoint"
    ]
  },
  "adminListClusters": {
    "name": "admin cluster list",
    "summary": "List clusters",
    "description": "Removed clusters are listed only if you filter by their status.",
    "params": [],
    "fields": [
      {
        "key": "providerId",
        "flag": "provider-id",
        "type": "text",
        "describe": "the provider"
      },
      {
        "key": "status",
        "flag": "status",
        "type": "text",
        "describe": "only this status",
        "choices": [
          "connecting",
          "connected",
          "silent",
          "removed"
        ]
      }
    ],
    "responseKind": "list",
    "json": [
      "id",
      "name",
      "providerId",
      "region",
      "driver",
      "endpoint",
      "credentialRef",
      "settings",
      "offer",
      "connectionType",
      "origin",
      "status",
      "statusReason",
      "statusSince",
      "engine",
      "lastSeenAt",
      "nodeCount",
      "createdAt"
    ],
    "columns": [
      "id",
      "name",
      "status",
      "providerId",
      "region",
      "driver",
      "endpoint"
    ]
  },
  "adminRemoveCluster": {
    "name": "admin cluster remove",
    "summary": "Remove a cluster without running work",
    "params": [
      {
        "key": "clusterId",
        "describe": "the id of a cluster"
      }
    ],
    "fields": [
      {
        "key": "reason",
        "flag": "reason",
        "type": "text",
        "describe": "a reason, for the audit log"
      }
    ],
    "responseKind": "nothing",
    "json": [],
    "columns": [],
    "confirms": true
  },
  "adminCreateDeployment": {
    "name": "admin deployment create",
    "summary": "Register an engine that serves a model",
    "params": [],
    "fields": [
      {
        "key": "model",
        "flag": "model",
        "type": "text",
        "describe": "the model",
        "required": true
      },
      {
        "key": "engine",
        "flag": "engine",
        "type": "text",
        "describe": "the engine",
        "choices": [
          "vllm",
          "sglang",
          "llama.cpp",
          "openai",
          "openai-images",
          "automatic1111",
          "comfyui",
          "speech",
          "mock"
        ],
        "required": true
      },
      {
        "key": "address",
        "flag": "address",
        "type": "text",
        "describe": "the address of the engine, without /v1 or the path of an operation",
        "required": true
      },
      {
        "key": "region",
        "flag": "region",
        "type": "text",
        "describe": "the region",
        "required": true
      },
      {
        "key": "upstreamModel",
        "flag": "upstream-model",
        "type": "text",
        "describe": "the name of the model at the engine; null means the name of the model"
      },
      {
        "key": "apiKey",
        "flag": "api-key-stdin",
        "type": "secret",
        "describe": "read this value from standard input: sent to the engine as a bearer token"
      },
      {
        "key": "weight",
        "flag": "weight",
        "type": "integer",
        "describe": "its share of requests"
      },
      {
        "key": "maxConcurrency",
        "flag": "max-concurrency",
        "type": "integer",
        "describe": "the maximum number of requests at a time"
      },
      {
        "key": "enabled",
        "flag": "enabled",
        "type": "boolean",
        "describe": "whether it is enabled"
      },
      {
        "key": "reason",
        "flag": "reason",
        "type": "text",
        "describe": "a reason, for the audit log"
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "id",
      "model",
      "engine",
      "address",
      "upstreamModel",
      "region",
      "weight",
      "maxConcurrency",
      "enabled",
      "hasApiKey",
      "health",
      "healthSince",
      "createdAt",
      "updatedAt"
    ],
    "columns": [
      "id",
      "model",
      "engine",
      "address",
      "upstreamModel",
      "region",
      "weight"
    ]
  },
  "adminDeleteDeployment": {
    "name": "admin deployment delete",
    "summary": "Delete a deployment; running streams finish",
    "params": [
      {
        "key": "deploymentId",
        "describe": "the id of a deployment"
      }
    ],
    "fields": [
      {
        "key": "reason",
        "flag": "reason",
        "type": "text",
        "describe": "a reason, for the audit log"
      }
    ],
    "responseKind": "nothing",
    "json": [],
    "columns": [],
    "confirms": true
  },
  "adminListDeployments": {
    "name": "admin deployment list",
    "summary": "List deployments with their health",
    "params": [],
    "fields": [
      {
        "key": "model",
        "flag": "model",
        "type": "text",
        "describe": "the model"
      }
    ],
    "responseKind": "list",
    "json": [
      "id",
      "model",
      "engine",
      "address",
      "upstreamModel",
      "region",
      "weight",
      "maxConcurrency",
      "enabled",
      "hasApiKey",
      "health",
      "healthSince",
      "createdAt",
      "updatedAt"
    ],
    "columns": [
      "id",
      "model",
      "engine",
      "address",
      "upstreamModel",
      "region",
      "weight"
    ]
  },
  "adminUpdateDeployment": {
    "name": "admin deployment update",
    "summary": "Change, disable or enable a deployment",
    "params": [
      {
        "key": "deploymentId",
        "describe": "the id of a deployment"
      }
    ],
    "fields": [
      {
        "key": "address",
        "flag": "address",
        "type": "text",
        "describe": "the address of the engine, without /v1 or the path of an operation"
      },
      {
        "key": "upstreamModel",
        "flag": "upstream-model",
        "type": "text",
        "describe": "the name of the model at the engine"
      },
      {
        "key": "apiKey",
        "flag": "api-key-stdin",
        "type": "secret",
        "describe": "read this value from standard input: sent to the engine as a bearer token"
      },
      {
        "key": "region",
        "flag": "region",
        "type": "text",
        "describe": "the region"
      },
      {
        "key": "weight",
        "flag": "weight",
        "type": "integer",
        "describe": "its share of requests"
      },
      {
        "key": "maxConcurrency",
        "flag": "max-concurrency",
        "type": "integer",
        "describe": "the maximum number of requests at a time"
      },
      {
        "key": "enabled",
        "flag": "enabled",
        "type": "boolean",
        "describe": "whether it is enabled"
      },
      {
        "key": "reason",
        "flag": "reason",
        "type": "text",
        "describe": "a reason, for the audit log"
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "id",
      "model",
      "engine",
      "address",
      "upstreamModel",
      "region",
      "weight",
      "maxConcurrency",
      "enabled",
      "hasApiKey",
      "health",
      "healthSince",
      "createdAt",
      "updatedAt"
    ],
    "columns": [
      "id",
      "model",
      "engine",
      "address",
      "upstreamModel",
      "region",
      "weight"
    ]
  },
  "adminCreateEntitlement": {
    "name": "admin entitlement create",
    "summary": "Entitle an organisation to a discount",
    "params": [
      {
        "key": "organisationId",
        "describe": "the id of an organisation"
      }
    ],
    "fields": [
      {
        "key": "maxDiscountPercentage",
        "flag": "max-discount-percentage",
        "type": "number",
        "describe": "in percent, with at most four decimals",
        "required": true
      },
      {
        "key": "reason",
        "flag": "reason",
        "type": "text",
        "describe": "a reason, for the audit log",
        "required": true
      },
      {
        "key": "gpuType",
        "flag": "gpu-type",
        "type": "text",
        "describe": "the GPU type"
      },
      {
        "key": "contractReference",
        "flag": "contract-reference",
        "type": "text",
        "describe": "the reference of the contract"
      },
      {
        "key": "validFrom",
        "flag": "valid-from",
        "type": "moment",
        "describe": "from when it applies"
      },
      {
        "key": "validUntil",
        "flag": "valid-until",
        "type": "moment",
        "describe": "until when it applies"
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "id",
      "organisationId",
      "maxDiscountPercentage",
      "gpuType",
      "contractReference",
      "validFrom",
      "validUntil"
    ],
    "columns": [
      "id",
      "organisationId",
      "maxDiscountPercentage",
      "gpuType",
      "contractReference",
      "validFrom",
      "validUntil"
    ],
    "confirms": true
  },
  "adminListEntitlements": {
    "name": "admin entitlement list",
    "summary": "List the discounts of an organisation",
    "params": [
      {
        "key": "organisationId",
        "describe": "the id of an organisation"
      }
    ],
    "fields": [],
    "responseKind": "list",
    "json": [
      "id",
      "organisationId",
      "maxDiscountPercentage",
      "gpuType",
      "contractReference",
      "validFrom",
      "validUntil"
    ],
    "columns": [
      "id",
      "organisationId",
      "maxDiscountPercentage",
      "gpuType",
      "contractReference",
      "validFrom",
      "validUntil"
    ]
  },
  "adminRevokeEntitlement": {
    "name": "admin entitlement revoke",
    "summary": "Withdraw an entitlement; running resources keep their frozen price",
    "params": [
      {
        "key": "organisationId",
        "describe": "the id of an organisation"
      },
      {
        "key": "entitlementId",
        "describe": "the id of an entitlement"
      }
    ],
    "fields": [
      {
        "key": "reason",
        "flag": "reason",
        "type": "text",
        "describe": "a reason, for the audit log"
      }
    ],
    "responseKind": "nothing",
    "json": [],
    "columns": [],
    "confirms": true
  },
  "adminGetHealth": {
    "name": "admin health",
    "summary": "Read what is broken now, the effect on tenants, and the runbooks",
    "description": "Answers within seconds while parts of the installation are down. Readings are at most five seconds old.",
    "params": [],
    "fields": [],
    "responseKind": "record",
    "json": [
      "readAt",
      "problems",
      "processes",
      "engines",
      "queues",
      "money",
      "fleet",
      "loops",
      "restore",
      "unread"
    ],
    "columns": [
      "readAt",
      "restore"
    ]
  },
  "adminApproveMachine": {
    "name": "admin machine approve",
    "summary": "Approve a supplier’s machine for the marketplace",
    "params": [
      {
        "key": "machineId",
        "describe": "the id of a node"
      }
    ],
    "fields": [
      {
        "key": "reason",
        "flag": "reason",
        "type": "text",
        "describe": "a reason, for the audit log",
        "required": true
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "id",
      "name",
      "supplierId",
      "clusterName",
      "region",
      "status",
      "statusReason",
      "approval",
      "approvalReason",
      "listed",
      "shown",
      "notShownBecause",
      "pricePerGpuHourNanoUsd",
      "gpus",
      "gpusRented",
      "drainedAt",
      "joinedAt",
      "lastSeenAt",
      "reliability"
    ],
    "columns": [
      "id",
      "name",
      "status",
      "supplierId",
      "clusterName",
      "region",
      "statusReason"
    ]
  },
  "adminListMachines": {
    "name": "admin machine list",
    "summary": "List suppliers’ machines",
    "params": [],
    "fields": [
      {
        "key": "approval",
        "flag": "approval",
        "type": "text",
        "describe": "only machines with this approval",
        "choices": [
          "pending",
          "approved",
          "rejected"
        ]
      },
      {
        "key": "supplierId",
        "flag": "supplier-id",
        "type": "text",
        "describe": "the id of a supplier"
      }
    ],
    "responseKind": "list",
    "json": [
      "id",
      "name",
      "supplierId",
      "clusterName",
      "region",
      "status",
      "statusReason",
      "approval",
      "approvalReason",
      "listed",
      "shown",
      "notShownBecause",
      "pricePerGpuHourNanoUsd",
      "gpus",
      "gpusRented",
      "drainedAt",
      "joinedAt",
      "lastSeenAt",
      "reliability"
    ],
    "columns": [
      "id",
      "name",
      "status",
      "supplierId",
      "clusterName",
      "region",
      "statusReason"
    ]
  },
  "adminRejectMachine": {
    "name": "admin machine reject",
    "summary": "Reject a supplier’s machine, including an approved one",
    "description": "It is not listed or rented anymore; existing rentals continue.",
    "params": [
      {
        "key": "machineId",
        "describe": "the id of a node"
      }
    ],
    "fields": [
      {
        "key": "reason",
        "flag": "reason",
        "type": "text",
        "describe": "a reason, for the audit log",
        "required": true
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "id",
      "name",
      "supplierId",
      "clusterName",
      "region",
      "status",
      "statusReason",
      "approval",
      "approvalReason",
      "listed",
      "shown",
      "notShownBecause",
      "pricePerGpuHourNanoUsd",
      "gpus",
      "gpusRented",
      "drainedAt",
      "joinedAt",
      "lastSeenAt",
      "reliability"
    ],
    "columns": [
      "id",
      "name",
      "status",
      "supplierId",
      "clusterName",
      "region",
      "statusReason"
    ]
  },
  "adminCancelMaintenanceWindow": {
    "name": "admin maintenance cancel",
    "summary": "Cancel announced maintenance, or end it early",
    "params": [
      {
        "key": "maintenanceId",
        "describe": "the id of a maintenance window"
      }
    ],
    "fields": [
      {
        "key": "reason",
        "flag": "reason",
        "type": "text",
        "describe": "a reason, for the audit log"
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "id",
      "nodeIds",
      "startsAt",
      "endsAt",
      "summary",
      "status",
      "drainsAt",
      "endedAt",
      "affectedRentalCount",
      "createdAt"
    ],
    "columns": [
      "id",
      "status",
      "startsAt",
      "endsAt",
      "summary",
      "drainsAt",
      "endedAt"
    ]
  },
  "adminCreateMaintenanceWindow": {
    "name": "admin maintenance create",
    "summary": "Announce maintenance; the time a machine is unavailable is not billed",
    "description": "Organisations with resources on the nodes are notified at once, and again when the window starts and ends. The nodes accept no new work from --drain-before-seconds before the start until the end. They then return to service, unless they were drained or quarantined in the meantime.",
    "params": [],
    "fields": [
      {
        "key": "nodeIds",
        "flag": "node-ids",
        "type": "list",
        "describe": "the ids of the nodes",
        "required": true
      },
      {
        "key": "startsAt",
        "flag": "starts-at",
        "type": "moment",
        "describe": "a start at most five minutes in the past means now",
        "required": true
      },
      {
        "key": "endsAt",
        "flag": "ends-at",
        "type": "moment",
        "describe": "the end time",
        "required": true
      },
      {
        "key": "summary",
        "flag": "summary",
        "type": "text",
        "describe": "one line for the affected organisations",
        "required": true
      },
      {
        "key": "drainBeforeSeconds",
        "flag": "drain-before-seconds",
        "type": "integer",
        "describe": "how long before the start the nodes stop accepting new work"
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "id",
      "nodeIds",
      "startsAt",
      "endsAt",
      "summary",
      "status",
      "drainsAt",
      "endedAt",
      "affectedRentalCount",
      "createdAt"
    ],
    "columns": [
      "id",
      "status",
      "startsAt",
      "endsAt",
      "summary",
      "drainsAt",
      "endedAt"
    ]
  },
  "adminListMaintenanceWindows": {
    "name": "admin maintenance list",
    "summary": "List maintenance windows, newest first",
    "params": [],
    "fields": [
      {
        "key": "nodeId",
        "flag": "node-id",
        "type": "text",
        "describe": "the id of a node"
      },
      {
        "key": "status",
        "flag": "status",
        "type": "text",
        "describe": "only this status",
        "choices": [
          "announced",
          "in_progress",
          "completed",
          "cancelled"
        ]
      }
    ],
    "responseKind": "list",
    "json": [
      "id",
      "nodeIds",
      "startsAt",
      "endsAt",
      "summary",
      "status",
      "drainsAt",
      "endedAt",
      "affectedRentalCount",
      "createdAt"
    ],
    "columns": [
      "id",
      "status",
      "startsAt",
      "endsAt",
      "summary",
      "drainsAt",
      "endedAt"
    ]
  },
  "adminCreateModel": {
    "name": "admin model create",
    "summary": "Add a model to the catalog",
    "params": [],
    "fields": [
      {
        "key": "name",
        "flag": "name",
        "type": "text",
        "describe": "the name",
        "required": true
      },
      {
        "key": "modality",
        "flag": "modality",
        "type": "text",
        "describe": "the kind of output",
        "choices": [
          "chat",
          "completion",
          "image",
          "audio"
        ],
        "required": true
      },
      {
        "key": "ownedBy",
        "flag": "owned-by",
        "type": "text",
        "describe": "the creator of the model",
        "required": true
      },
      {
        "key": "mode",
        "flag": "mode",
        "type": "text",
        "describe": "live: for sale; test keys get responses from a mock",
        "choices": [
          "live",
          "test"
        ]
      },
      {
        "key": "contextLength",
        "flag": "context-length",
        "type": "integer",
        "describe": "the context length in tokens"
      },
      {
        "key": "maxOutputTokens",
        "flag": "max-output-tokens",
        "type": "integer",
        "describe": "the maximum number of completion tokens"
      },
      {
        "key": "inputModalities",
        "flag": "input-modalities",
        "type": "list",
        "describe": "the inputs it accepts",
        "choices": [
          "text",
          "image",
          "audio"
        ]
      },
      {
        "key": "enabled",
        "flag": "enabled",
        "type": "boolean",
        "describe": "whether it is enabled"
      },
      {
        "key": "aliases",
        "flag": "aliases",
        "type": "list",
        "describe": "other names of this model"
      },
      {
        "key": "fallbacks",
        "flag": "fallbacks",
        "type": "list",
        "describe": "models of the same modality to use, in this order, if no deployment of this model is available"
      },
      {
        "key": "visibleTo",
        "flag": "visible-to",
        "type": "list",
        "describe": "the organisations that can use it; null means all"
      },
      {
        "key": "requestsPerMinute",
        "flag": "requests-per-minute",
        "type": "integer",
        "describe": "per organisation, in addition to its own limits"
      },
      {
        "key": "reason",
        "flag": "reason",
        "type": "text",
        "describe": "a reason, for the audit log"
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "name",
      "mode",
      "modality",
      "contextLength",
      "maxOutputTokens",
      "inputModalities",
      "ownedBy",
      "enabled",
      "aliases",
      "fallbacks",
      "visibleTo",
      "requestsPerMinute",
      "createdAt",
      "updatedAt"
    ],
    "columns": [
      "name",
      "mode",
      "modality",
      "contextLength",
      "maxOutputTokens",
      "ownedBy",
      "enabled"
    ]
  },
  "adminListModels": {
    "name": "admin model list",
    "summary": "List all models of the catalog, including disabled ones",
    "params": [],
    "fields": [],
    "responseKind": "list",
    "json": [
      "name",
      "mode",
      "modality",
      "contextLength",
      "maxOutputTokens",
      "inputModalities",
      "ownedBy",
      "enabled",
      "aliases",
      "fallbacks",
      "visibleTo",
      "requestsPerMinute",
      "createdAt",
      "updatedAt"
    ],
    "columns": [
      "name",
      "mode",
      "modality",
      "contextLength",
      "maxOutputTokens",
      "ownedBy",
      "enabled"
    ]
  },
  "adminUpdateModel": {
    "name": "admin model update",
    "summary": "Change, disable or enable a model",
    "description": "Percent-encode a slash in the name.",
    "params": [
      {
        "key": "name",
        "describe": "the name"
      }
    ],
    "fields": [
      {
        "key": "reason",
        "flag": "reason",
        "type": "text",
        "describe": "a reason, for the audit log",
        "required": true
      },
      {
        "key": "modality",
        "flag": "modality",
        "type": "text",
        "describe": "the kind of output",
        "choices": [
          "chat",
          "completion",
          "image",
          "audio"
        ]
      },
      {
        "key": "contextLength",
        "flag": "context-length",
        "type": "integer",
        "describe": "the context length in tokens"
      },
      {
        "key": "maxOutputTokens",
        "flag": "max-output-tokens",
        "type": "integer",
        "describe": "the maximum number of completion tokens"
      },
      {
        "key": "inputModalities",
        "flag": "input-modalities",
        "type": "list",
        "describe": "the inputs it accepts",
        "choices": [
          "text",
          "image",
          "audio"
        ]
      },
      {
        "key": "ownedBy",
        "flag": "owned-by",
        "type": "text",
        "describe": "the creator of the model"
      },
      {
        "key": "enabled",
        "flag": "enabled",
        "type": "boolean",
        "describe": "whether it is enabled"
      },
      {
        "key": "aliases",
        "flag": "aliases",
        "type": "list",
        "describe": "other names of this model"
      },
      {
        "key": "fallbacks",
        "flag": "fallbacks",
        "type": "list",
        "describe": "models of the same modality to use, in this order, if no deployment of this model is available"
      },
      {
        "key": "visibleTo",
        "flag": "visible-to",
        "type": "list",
        "describe": "the organisations that can use it; null means all"
      },
      {
        "key": "requestsPerMinute",
        "flag": "requests-per-minute",
        "type": "integer",
        "describe": "per organisation, in addition to its own limits"
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "name",
      "mode",
      "modality",
      "contextLength",
      "maxOutputTokens",
      "inputModalities",
      "ownedBy",
      "enabled",
      "aliases",
      "fallbacks",
      "visibleTo",
      "requestsPerMinute",
      "createdAt",
      "updatedAt"
    ],
    "columns": [
      "name",
      "mode",
      "modality",
      "contextLength",
      "maxOutputTokens",
      "ownedBy",
      "enabled"
    ]
  },
  "adminGetNode": {
    "name": "admin node get",
    "summary": "Read a node",
    "params": [
      {
        "key": "nodeId",
        "describe": "the id of a node"
      }
    ],
    "fields": [],
    "responseKind": "record",
    "json": [
      "id",
      "name",
      "clusterId",
      "clusterName",
      "providerId",
      "region",
      "supplierId",
      "status",
      "statusReason",
      "statusSince",
      "drainDeadlineAt",
      "address",
      "hardwareReadAt",
      "cpuModel",
      "cpuCount",
      "ramGb",
      "storageGb",
      "driverVersion",
      "cudaVersion",
      "gpus",
      "liveRentalCount",
      "lastSeenAt"
    ],
    "columns": [
      "id",
      "name",
      "status",
      "clusterId",
      "clusterName",
      "providerId",
      "region"
    ]
  },
  "adminMarkGpu": {
    "name": "admin node mark-gpu",
    "summary": "Take a single GPU out of service, or return it",
    "description": "A tenant who rents the GPU keeps it; it is not rented again until it returns to service.",
    "params": [
      {
        "key": "nodeId",
        "describe": "the id of a node"
      },
      {
        "key": "gpuId",
        "describe": "the id of a GPU"
      }
    ],
    "fields": [
      {
        "key": "faulty",
        "flag": "faulty",
        "type": "boolean",
        "describe": "take it out of service",
        "required": true
      },
      {
        "key": "reason",
        "flag": "reason",
        "type": "text",
        "describe": "a reason, for the audit log",
        "required": true
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "id",
      "name",
      "clusterId",
      "clusterName",
      "providerId",
      "region",
      "supplierId",
      "status",
      "statusReason",
      "statusSince",
      "drainDeadlineAt",
      "address",
      "hardwareReadAt",
      "cpuModel",
      "cpuCount",
      "ramGb",
      "storageGb",
      "driverVersion",
      "cudaVersion",
      "gpus",
      "liveRentalCount",
      "lastSeenAt"
    ],
    "columns": [
      "id",
      "name",
      "status",
      "clusterId",
      "clusterName",
      "providerId",
      "region"
    ]
  },
  "adminRemoveNode": {
    "name": "admin node remove",
    "summary": "Remove an empty node from the fleet",
    "description": "Drain it first. Its name is free for a new node when the engine no longer lists the old one.",
    "params": [
      {
        "key": "nodeId",
        "describe": "the id of a node"
      }
    ],
    "fields": [
      {
        "key": "reason",
        "flag": "reason",
        "type": "text",
        "describe": "a reason, for the audit log"
      }
    ],
    "responseKind": "nothing",
    "json": [],
    "columns": [],
    "confirms": true
  },
  "adminListNodeTransitions": {
    "name": "admin node transitions",
    "summary": "List the transitions of a node, newest first",
    "params": [
      {
        "key": "nodeId",
        "describe": "the id of a node"
      }
    ],
    "fields": [],
    "responseKind": "list",
    "json": [
      "seq",
      "from",
      "to",
      "reason",
      "actor",
      "at"
    ],
    "columns": [
      "seq",
      "from",
      "to",
      "reason",
      "actor",
      "at"
    ]
  },
  "adminWriteOffNode": {
    "name": "admin node write-off",
    "summary": "Write off a node whose host never returns, with everything on it",
    "description": "Refused with `HOST_ANSWERS` while its host responds. Every machine on the node is written off, then the node is removed. The node stays quarantined while a rental with machines on other hosts uses its GPUs: repeat the request when those machines are removed.",
    "params": [
      {
        "key": "nodeId",
        "describe": "the id of a node"
      }
    ],
    "fields": [
      {
        "key": "reason",
        "flag": "reason",
        "type": "text",
        "describe": "a reason, for the audit log",
        "required": true
      },
      {
        "key": "hostIsOff",
        "flag": "host-is-off",
        "type": "boolean",
        "describe": "you confirm that the host is switched off or disconnected permanently",
        "required": true
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "node",
      "rentals"
    ],
    "columns": []
  },
  "adminAddMember": {
    "name": "admin org add-member",
    "summary": "Add a user to an organisation",
    "params": [
      {
        "key": "organisationId",
        "describe": "the id of an organisation"
      }
    ],
    "fields": [
      {
        "key": "email",
        "flag": "email",
        "type": "text",
        "describe": "the email address",
        "required": true
      },
      {
        "key": "role",
        "flag": "role",
        "type": "text",
        "describe": "the role",
        "choices": [
          "owner",
          "admin",
          "member",
          "billing",
          "viewer"
        ],
        "required": true
      },
      {
        "key": "name",
        "flag": "name",
        "type": "text",
        "describe": "the name"
      },
      {
        "key": "reason",
        "flag": "reason",
        "type": "text",
        "describe": "a reason, for the audit log"
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "id",
      "organisationId",
      "userId",
      "role",
      "email",
      "name",
      "picture",
      "createdAt"
    ],
    "columns": [
      "id",
      "name",
      "organisationId",
      "userId",
      "role",
      "email",
      "picture"
    ]
  },
  "adminAdjust": {
    "name": "admin org adjust",
    "summary": "Correct a balance, up or down",
    "description": "An adjustment that would take the balance below its floor is refused with 402. At most 10000000 USD per request.",
    "params": [
      {
        "key": "organisationId",
        "describe": "the id of an organisation"
      }
    ],
    "fields": [
      {
        "key": "amountNanoUsd",
        "flag": "amount-usd",
        "type": "usd",
        "describe": "the amount",
        "required": true
      },
      {
        "key": "reason",
        "flag": "reason",
        "type": "text",
        "describe": "a reason, for the audit log",
        "required": true
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "id",
      "occurredAt",
      "kind",
      "amountNanoUsd",
      "balanceAfterNanoUsd",
      "cause",
      "description",
      "reverses",
      "organisationId",
      "reason"
    ],
    "columns": [
      "id",
      "occurredAt",
      "kind",
      "amountNanoUsd",
      "balanceAfterNanoUsd",
      "description",
      "reverses"
    ],
    "confirms": true
  },
  "adminGetBalance": {
    "name": "admin org balance",
    "summary": "Read the balance of any organisation",
    "params": [
      {
        "key": "organisationId",
        "describe": "the id of an organisation"
      }
    ],
    "fields": [],
    "responseKind": "record",
    "json": [
      "organisationId",
      "balanceNanoUsd",
      "heldNanoUsd",
      "availableNanoUsd",
      "maxOverdraftNanoUsd",
      "frozen"
    ],
    "columns": [
      "organisationId",
      "balanceNanoUsd",
      "heldNanoUsd",
      "availableNanoUsd",
      "maxOverdraftNanoUsd",
      "frozen"
    ]
  },
  "adminCreateOrganisation": {
    "name": "admin org create",
    "summary": "Create an organisation with its first owner",
    "description": "The user with this email address becomes the owner; if there is none, one is created.",
    "params": [],
    "fields": [
      {
        "key": "name",
        "flag": "name",
        "type": "text",
        "describe": "the name",
        "required": true
      },
      {
        "key": "owner",
        "flag": "owner",
        "type": "json",
        "describe": "the first owner: email and name",
        "required": true
      },
      {
        "key": "slug",
        "flag": "slug",
        "type": "text",
        "describe": "default: derived from the name"
      },
      {
        "key": "reason",
        "flag": "reason",
        "type": "text",
        "describe": "a reason, for the audit log"
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "id",
      "name",
      "slug",
      "status",
      "createdAt",
      "updatedAt",
      "homeCell",
      "suspendedAt",
      "suspendedReason",
      "balanceNanoUsd"
    ],
    "columns": [
      "id",
      "name",
      "status",
      "slug",
      "createdAt",
      "updatedAt",
      "homeCell"
    ]
  },
  "adminGetOrganisation": {
    "name": "admin org get",
    "summary": "Read any organisation",
    "params": [
      {
        "key": "organisationId",
        "describe": "the id of an organisation"
      }
    ],
    "fields": [],
    "responseKind": "record",
    "json": [
      "id",
      "name",
      "slug",
      "status",
      "createdAt",
      "updatedAt",
      "homeCell",
      "suspendedAt",
      "suspendedReason",
      "balanceNanoUsd"
    ],
    "columns": [
      "id",
      "name",
      "status",
      "slug",
      "createdAt",
      "updatedAt",
      "homeCell"
    ]
  },
  "adminListMembers": {
    "name": "admin org members",
    "summary": "List the members of any organisation",
    "params": [
      {
        "key": "organisationId",
        "describe": "the id of an organisation"
      }
    ],
    "fields": [],
    "responseKind": "list",
    "json": [
      "id",
      "organisationId",
      "userId",
      "role",
      "email",
      "name",
      "picture",
      "createdAt"
    ],
    "columns": [
      "id",
      "name",
      "organisationId",
      "userId",
      "role",
      "email",
      "picture"
    ]
  },
  "adminRefund": {
    "name": "admin org refund",
    "summary": "Refund part or all of a charge",
    "description": "Refunds of a charge that exceed it in total are refused with 409.",
    "params": [
      {
        "key": "organisationId",
        "describe": "the id of an organisation"
      }
    ],
    "fields": [
      {
        "key": "transferId",
        "flag": "transfer-id",
        "type": "text",
        "describe": "the id of a transfer",
        "required": true
      },
      {
        "key": "reason",
        "flag": "reason",
        "type": "text",
        "describe": "a reason, for the audit log",
        "required": true
      },
      {
        "key": "amountNanoUsd",
        "flag": "amount-usd",
        "type": "usd",
        "describe": "the amount"
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "id",
      "occurredAt",
      "kind",
      "amountNanoUsd",
      "balanceAfterNanoUsd",
      "cause",
      "description",
      "reverses",
      "organisationId",
      "reason"
    ],
    "columns": [
      "id",
      "occurredAt",
      "kind",
      "amountNanoUsd",
      "balanceAfterNanoUsd",
      "description",
      "reverses"
    ],
    "confirms": true
  },
  "adminSetOverdraft": {
    "name": "admin org set-overdraft",
    "summary": "Set how far below zero a balance can go",
    "description": "Removing an overdraft that is in use is refused with 409. At most 10000000 USD.",
    "params": [
      {
        "key": "organisationId",
        "describe": "the id of an organisation"
      }
    ],
    "fields": [
      {
        "key": "maxOverdraftNanoUsd",
        "flag": "max-overdraft-usd",
        "type": "usd",
        "describe": "how far below zero the balance can go",
        "required": true
      },
      {
        "key": "reason",
        "flag": "reason",
        "type": "text",
        "describe": "a reason, for the audit log",
        "required": true
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "organisationId",
      "balanceNanoUsd",
      "heldNanoUsd",
      "availableNanoUsd",
      "maxOverdraftNanoUsd",
      "frozen"
    ],
    "columns": [
      "organisationId",
      "balanceNanoUsd",
      "heldNanoUsd",
      "availableNanoUsd",
      "maxOverdraftNanoUsd",
      "frozen"
    ],
    "confirms": true
  },
  "adminUnfreeze": {
    "name": "admin org unfreeze",
    "summary": "Allow new work again after a disputed payment was settled",
    "params": [
      {
        "key": "organisationId",
        "describe": "the id of an organisation"
      }
    ],
    "fields": [
      {
        "key": "reason",
        "flag": "reason",
        "type": "text",
        "describe": "a reason, for the audit log",
        "required": true
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "organisationId",
      "balanceNanoUsd",
      "heldNanoUsd",
      "availableNanoUsd",
      "maxOverdraftNanoUsd",
      "frozen"
    ],
    "columns": [
      "organisationId",
      "balanceNanoUsd",
      "heldNanoUsd",
      "availableNanoUsd",
      "maxOverdraftNanoUsd",
      "frozen"
    ],
    "confirms": true
  },
  "adminGetOverview": {
    "name": "admin overview",
    "summary": "Read revenue, utilisation, faults and pending decisions",
    "description": "Live mode only.",
    "params": [],
    "fields": [],
    "responseKind": "record",
    "json": [
      "revenue",
      "gpus",
      "nodes",
      "rentals",
      "pending"
    ],
    "columns": []
  },
  "adminListPayouts": {
    "name": "admin payout list",
    "summary": "List payouts of all suppliers, newest first",
    "params": [],
    "fields": [
      {
        "key": "status",
        "flag": "status",
        "type": "text",
        "describe": "only this status",
        "choices": [
          "requested",
          "paid",
          "rejected"
        ]
      }
    ],
    "responseKind": "list",
    "json": [
      "id",
      "amountNanoUsd",
      "status",
      "requestedAt",
      "settledAt",
      "reference",
      "reason",
      "supplierId",
      "organisationId",
      "supplierName"
    ],
    "columns": [
      "id",
      "status",
      "amountNanoUsd",
      "requestedAt",
      "settledAt",
      "reference",
      "reason"
    ]
  },
  "adminSettlePayout": {
    "name": "admin payout settle",
    "summary": "Record a payout as paid, or reject it",
    "description": "A payout is settled once: repeating the same outcome returns the payout, and the other outcome is refused with 409. The supplier sees the reason of a rejection.",
    "params": [
      {
        "key": "payoutId",
        "describe": "the id of a payout"
      }
    ],
    "fields": [
      {
        "key": "outcome",
        "flag": "outcome",
        "type": "text",
        "describe": "paid or rejected",
        "choices": [
          "paid",
          "rejected"
        ],
        "required": true
      },
      {
        "key": "reason",
        "flag": "reason",
        "type": "text",
        "describe": "a reason, for the audit log",
        "required": true
      },
      {
        "key": "reference",
        "flag": "reference",
        "type": "text",
        "describe": "the reference of the bank transfer"
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "id",
      "amountNanoUsd",
      "status",
      "requestedAt",
      "settledAt",
      "reference",
      "reason",
      "supplierId",
      "organisationId",
      "supplierName"
    ],
    "columns": [
      "id",
      "status",
      "amountNanoUsd",
      "requestedAt",
      "settledAt",
      "reference",
      "reason"
    ],
    "confirms": true
  },
  "adminEndPrice": {
    "name": "admin price end",
    "summary": "End a price, so that nothing new is sold at it",
    "description": "The price that it replaced applies again: an older price for the same subject, or a less specific one.",
    "params": [
      {
        "key": "priceId",
        "describe": "the id of an entry of the price list"
      }
    ],
    "fields": [
      {
        "key": "reason",
        "flag": "reason",
        "type": "text",
        "describe": "a reason, for the audit log",
        "required": true
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "id",
      "organisationId",
      "subject",
      "unit",
      "priceNanoUsd",
      "validFrom",
      "validUntil",
      "createdAt"
    ],
    "columns": [
      "id",
      "organisationId",
      "unit",
      "priceNanoUsd",
      "validFrom",
      "validUntil",
      "createdAt"
    ]
  },
  "adminListProviders": {
    "name": "admin provider list",
    "summary": "List the configured providers and their regions",
    "params": [],
    "fields": [],
    "responseKind": "list",
    "json": [
      "id",
      "variant",
      "driver",
      "mode",
      "enabled",
      "configured",
      "regions"
    ],
    "columns": [
      "id",
      "variant",
      "driver",
      "mode",
      "enabled",
      "configured"
    ]
  },
  "adminUpdateProvider": {
    "name": "admin provider update",
    "summary": "Enable or disable a provider or some of its regions",
    "description": "Disabling stops new rentals only.",
    "params": [
      {
        "key": "providerId",
        "describe": "the provider"
      }
    ],
    "fields": [
      {
        "key": "reason",
        "flag": "reason",
        "type": "text",
        "describe": "a reason, for the audit log",
        "required": true
      },
      {
        "key": "enabled",
        "flag": "enabled",
        "type": "boolean",
        "describe": "whether it is enabled"
      },
      {
        "key": "regions",
        "flag": "regions",
        "type": "json",
        "describe": "the open regions"
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "id",
      "variant",
      "driver",
      "mode",
      "enabled",
      "configured",
      "regions"
    ],
    "columns": [
      "id",
      "variant",
      "driver",
      "mode",
      "enabled",
      "configured"
    ]
  },
  "adminCreatePrivateCloudRental": {
    "name": "admin rental create-private-cloud",
    "summary": "Hand over a private cloud under contract; it is never metered by GPU",
    "params": [],
    "fields": [
      {
        "key": "organisationId",
        "flag": "organisation-id",
        "type": "text",
        "describe": "the id of an organisation",
        "required": true
      },
      {
        "key": "name",
        "flag": "name",
        "type": "text",
        "describe": "the name",
        "required": true
      },
      {
        "key": "gpuType",
        "flag": "gpu-type",
        "type": "text",
        "describe": "the GPU type",
        "choices": [
          "h100",
          "h200",
          "b200"
        ],
        "required": true
      },
      {
        "key": "gpuCount",
        "flag": "gpu-count",
        "type": "integer",
        "describe": "the number of GPUs",
        "required": true
      },
      {
        "key": "nodes",
        "flag": "nodes",
        "type": "json",
        "describe": "the nodes of the private cloud",
        "required": true
      },
      {
        "key": "sshUser",
        "flag": "ssh-user",
        "type": "text",
        "describe": "the SSH user",
        "required": true
      },
      {
        "key": "reason",
        "flag": "reason",
        "type": "text",
        "describe": "a reason, for the audit log",
        "required": true
      },
      {
        "key": "gpuModel",
        "flag": "gpu-model",
        "type": "text",
        "describe": "the GPU model, as shown"
      },
      {
        "key": "location",
        "flag": "location",
        "type": "text",
        "describe": "its location, as shown"
      },
      {
        "key": "sshPort",
        "flag": "ssh-port",
        "type": "integer",
        "describe": "the SSH port"
      },
      {
        "key": "salesContractExternalId",
        "flag": "sales-contract-external-id",
        "type": "text",
        "describe": "the id of the sales contract"
      },
      {
        "key": "startsAt",
        "flag": "starts-at",
        "type": "moment",
        "describe": "the start time"
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "id",
      "createdAt",
      "updatedAt",
      "deletedAt",
      "userId",
      "orgId",
      "startedAt",
      "terminatedAt",
      "externalId",
      "rentalId",
      "providerData",
      "rentalType",
      "name",
      "label",
      "region",
      "convertToOnDemandOnExpiry",
      "managedK8sClusterId",
      "gpuType",
      "gpuCount",
      "meta",
      "currentTerm",
      "attachedStorage",
      "gpuFormFactor",
      "nodes",
      "connectionType",
      "ethernetVariant",
      "createdBy",
      "supportsFeature",
      "status",
      "statusReason",
      "statusSince",
      "power",
      "gpuHeld",
      "releasedCostPerHourNanoUsd",
      "billingPausedAt",
      "ssh",
      "ports",
      "image",
      "tags",
      "expiresAt",
      "maxUsd",
      "costSoFarNanoUsd",
      "liveCostPerHourNanoUsd",
      "liveReleasedCostPerHourNanoUsd",
      "steps"
    ],
    "optional": [
      "meta",
      "attachedStorage",
      "ethernetVariant",
      "liveCostPerHourNanoUsd",
      "liveReleasedCostPerHourNanoUsd"
    ],
    "columns": [
      "id",
      "name",
      "status",
      "createdAt",
      "updatedAt",
      "deletedAt",
      "userId"
    ]
  },
  "adminListRentals": {
    "name": "admin rental list",
    "summary": "List rentals and instances of all organisations, newest first",
    "description": "Ended rentals are listed only if you filter by their status.",
    "params": [],
    "fields": [
      {
        "key": "organisationId",
        "flag": "organisation-id",
        "type": "text",
        "describe": "the id of an organisation"
      },
      {
        "key": "nodeId",
        "flag": "node-id",
        "type": "text",
        "describe": "only rentals with a machine on this node"
      },
      {
        "key": "status",
        "flag": "status",
        "type": "text",
        "describe": "only this status",
        "choices": [
          "Failed",
          "Pending",
          "Running",
          "Terminating",
          "Terminated",
          "Unknown"
        ]
      },
      {
        "key": "mode",
        "flag": "mode",
        "type": "text",
        "describe": "mode",
        "choices": [
          "live",
          "test"
        ]
      }
    ],
    "responseKind": "list",
    "json": [
      "id",
      "externalId",
      "kind",
      "organisationId",
      "organisationName",
      "mode",
      "name",
      "providerId",
      "region",
      "gpuType",
      "gpuCount",
      "nodeIds",
      "status",
      "power",
      "gpuHeld",
      "statusReason",
      "statusSince",
      "createdAt",
      "startedAt",
      "endedAt"
    ],
    "columns": [
      "id",
      "name",
      "status",
      "externalId",
      "kind",
      "organisationId",
      "organisationName"
    ]
  },
  "adminTerminateRental": {
    "name": "admin rental terminate",
    "summary": "Terminate any rental",
    "params": [
      {
        "key": "rentalId",
        "describe": "rental id",
        "integer": true
      }
    ],
    "fields": [
      {
        "key": "reason",
        "flag": "reason",
        "type": "text",
        "describe": "a reason, for the audit log",
        "required": true
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "message",
      "rentalId",
      "status",
      "billingStoppedAt",
      "finalCost",
      "commitment"
    ],
    "optional": [
      "commitment"
    ],
    "columns": [
      "status",
      "message",
      "rentalId",
      "billingStoppedAt"
    ],
    "confirms": true
  },
  "adminWriteOffRental": {
    "name": "admin rental write-off",
    "summary": "Write off a rental whose host never returns",
    "description": "Refused with `HOST_ANSWERS` while the hosts of all its machines respond. The machines and their data are declared lost, the rental ends, and their nodes are quarantined. If the host returns, its machines are removed as orphans before the node can be resumed. The request is idempotent.",
    "params": [
      {
        "key": "rentalId",
        "describe": "rental id",
        "integer": true
      }
    ],
    "fields": [
      {
        "key": "reason",
        "flag": "reason",
        "type": "text",
        "describe": "a reason, for the audit log",
        "required": true
      },
      {
        "key": "hostIsOff",
        "flag": "host-is-off",
        "type": "boolean",
        "describe": "you confirm that the host is switched off or disconnected permanently",
        "required": true
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "rentalId",
      "status",
      "machinesWrittenOff",
      "machinesLeft",
      "billingStoppedAt",
      "finalCost",
      "nodes"
    ],
    "columns": [
      "status",
      "rentalId",
      "machinesWrittenOff",
      "machinesLeft",
      "billingStoppedAt"
    ]
  },
  "adminListReservationRequests": {
    "name": "admin reservation list",
    "summary": "List requests for large reservations, newest first",
    "params": [],
    "fields": [],
    "responseKind": "list",
    "json": [
      "id",
      "organisationId",
      "requestedBy",
      "gpuCount",
      "createdAt"
    ],
    "columns": [
      "id",
      "organisationId",
      "requestedBy",
      "gpuCount",
      "createdAt"
    ]
  },
  "adminCreateReserveOption": {
    "name": "admin reserve-option create",
    "summary": "Offer a reserved term",
    "description": "It replaces the existing option for the same machine type, GPU type, region and term.",
    "params": [],
    "fields": [
      {
        "key": "machineType",
        "flag": "machine-type",
        "type": "text",
        "describe": "the kind of machine",
        "choices": [
          "virtual-machine",
          "bare-metal"
        ],
        "required": true
      },
      {
        "key": "gpuType",
        "flag": "gpu-type",
        "type": "text",
        "describe": "the GPU type",
        "required": true
      },
      {
        "key": "region",
        "flag": "region",
        "type": "text",
        "describe": "the region",
        "required": true
      },
      {
        "key": "termPeriodDays",
        "flag": "term-period-days",
        "type": "integer",
        "describe": "the number of days",
        "required": true
      },
      {
        "key": "discountPercentage",
        "flag": "discount-percentage",
        "type": "number",
        "describe": "in percent, with at most four decimals",
        "required": true
      },
      {
        "key": "earlyTerminationRefundPercentage",
        "flag": "early-termination-refund-percentage",
        "type": "number",
        "describe": "in percent, with at most four decimals",
        "required": true
      },
      {
        "key": "reason",
        "flag": "reason",
        "type": "text",
        "describe": "a reason, for the audit log"
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "id",
      "machineType",
      "gpuType",
      "region",
      "termPeriodDays",
      "discountPercentage",
      "earlyTerminationRefundPercentage",
      "createdAt"
    ],
    "columns": [
      "id",
      "machineType",
      "gpuType",
      "region",
      "termPeriodDays",
      "discountPercentage",
      "earlyTerminationRefundPercentage"
    ]
  },
  "adminListReserveOptions": {
    "name": "admin reserve-option list",
    "summary": "List the available reserve options",
    "params": [],
    "fields": [],
    "responseKind": "list",
    "json": [
      "id",
      "machineType",
      "gpuType",
      "region",
      "termPeriodDays",
      "discountPercentage",
      "earlyTerminationRefundPercentage",
      "createdAt"
    ],
    "columns": [
      "id",
      "machineType",
      "gpuType",
      "region",
      "termPeriodDays",
      "discountPercentage",
      "earlyTerminationRefundPercentage"
    ]
  },
  "adminApproveSupplier": {
    "name": "admin supplier approve",
    "summary": "Approve a supplier",
    "description": "The fee applies to new rentals. Approving again changes the fee and lifts a suspension.",
    "params": [
      {
        "key": "supplierId",
        "describe": "the id of a supplier"
      }
    ],
    "fields": [
      {
        "key": "reason",
        "flag": "reason",
        "type": "text",
        "describe": "a reason, for the audit log",
        "required": true
      },
      {
        "key": "feePercentage",
        "flag": "fee-percentage",
        "type": "number",
        "describe": "the operator’s share of each charge, with at most four decimals",
        "required": true
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "id",
      "organisationId",
      "name",
      "about",
      "status",
      "statusReason",
      "feePercentage",
      "appliedAt",
      "approvedAt"
    ],
    "columns": [
      "id",
      "name",
      "status",
      "organisationId",
      "about",
      "statusReason",
      "feePercentage"
    ]
  },
  "adminListSuppliers": {
    "name": "admin supplier list",
    "summary": "List suppliers and applications",
    "params": [],
    "fields": [
      {
        "key": "status",
        "flag": "status",
        "type": "text",
        "describe": "machines of a suspended supplier are not listed or rented anymore; existing rentals continue",
        "choices": [
          "applied",
          "approved",
          "rejected",
          "suspended"
        ]
      }
    ],
    "responseKind": "list",
    "json": [
      "id",
      "organisationId",
      "name",
      "about",
      "status",
      "statusReason",
      "feePercentage",
      "appliedAt",
      "approvedAt"
    ],
    "columns": [
      "id",
      "name",
      "status",
      "organisationId",
      "about",
      "statusReason",
      "feePercentage"
    ]
  },
  "adminRejectSupplier": {
    "name": "admin supplier reject",
    "summary": "Reject an application, or suspend an approved supplier",
    "description": "Machines of a suspended supplier are not listed or rented anymore; existing rentals continue.",
    "params": [
      {
        "key": "supplierId",
        "describe": "the id of a supplier"
      }
    ],
    "fields": [
      {
        "key": "reason",
        "flag": "reason",
        "type": "text",
        "describe": "a reason, for the audit log",
        "required": true
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "id",
      "organisationId",
      "name",
      "about",
      "status",
      "statusReason",
      "feePercentage",
      "appliedAt",
      "approvedAt"
    ],
    "columns": [
      "id",
      "name",
      "status",
      "organisationId",
      "about",
      "statusReason",
      "feePercentage"
    ]
  },
  "adminListTransfers": {
    "name": "admin transfer list",
    "summary": "List transfers of all organisations, newest first",
    "params": [],
    "fields": [
      {
        "key": "from",
        "flag": "from",
        "type": "moment",
        "describe": "from this time"
      },
      {
        "key": "until",
        "flag": "until",
        "type": "moment",
        "describe": "before this time"
      },
      {
        "key": "organisationId",
        "flag": "organisation-id",
        "type": "text",
        "describe": "the id of an organisation"
      },
      {
        "key": "kind",
        "flag": "kind",
        "type": "text",
        "describe": "only this kind",
        "choices": [
          "top_up",
          "grant",
          "adjustment",
          "refund",
          "reversal",
          "charge",
          "credit",
          "payout",
          "clawback",
          "expiry"
        ]
      }
    ],
    "responseKind": "list",
    "json": [
      "id",
      "occurredAt",
      "kind",
      "amountNanoUsd",
      "balanceAfterNanoUsd",
      "cause",
      "description",
      "reverses",
      "organisationId",
      "reason"
    ],
    "columns": [
      "id",
      "occurredAt",
      "kind",
      "amountNanoUsd",
      "balanceAfterNanoUsd",
      "description",
      "reverses"
    ]
  },
  "adminReverse": {
    "name": "admin transfer reverse",
    "summary": "Reverse a transfer with its exact opposite",
    "params": [
      {
        "key": "transferId",
        "describe": "the id of a transfer"
      }
    ],
    "fields": [
      {
        "key": "reason",
        "flag": "reason",
        "type": "text",
        "describe": "a reason, for the audit log",
        "required": true
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "id",
      "occurredAt",
      "kind",
      "amountNanoUsd",
      "balanceAfterNanoUsd",
      "cause",
      "description",
      "reverses",
      "organisationId",
      "reason"
    ],
    "columns": [
      "id",
      "occurredAt",
      "kind",
      "amountNanoUsd",
      "balanceAfterNanoUsd",
      "description",
      "reverses"
    ],
    "confirms": true
  },
  "adminWriteOffVolume": {
    "name": "admin volume write-off",
    "summary": "Write off a volume whose storage node never returns",
    "description": "Refused with `HOST_ANSWERS` while its storage node responds. The data and snapshots are declared lost without retention, rentals are detached, and the volume is deleted. If the storage node returns, it deletes its copy of the volume when a worker reaches it.",
    "params": [
      {
        "key": "storageVolumeId",
        "describe": "storage volume id",
        "integer": true
      }
    ],
    "fields": [
      {
        "key": "reason",
        "flag": "reason",
        "type": "text",
        "describe": "a reason, for the audit log",
        "required": true
      },
      {
        "key": "hostIsOff",
        "flag": "host-is-off",
        "type": "boolean",
        "describe": "you confirm that the host is switched off or disconnected permanently",
        "required": true
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "storageVolumeId",
      "billingStoppedAt",
      "finalCost",
      "detachedRentalIds"
    ],
    "columns": [
      "storageVolumeId",
      "billingStoppedAt"
    ]
  },
  "getCurrentBalance": {
    "name": "balance credits",
    "summary": "Read the current balance",
    "params": [],
    "fields": [],
    "responseKind": "record",
    "json": [
      "credits",
      "currency",
      "balance_usd",
      "balance_nano_usd",
      "held_nano_usd"
    ],
    "columns": [
      "credits",
      "currency",
      "balance_usd",
      "balance_nano_usd",
      "held_nano_usd"
    ],
    "hidden": true
  },
  "listPurchaseHistory": {
    "name": "balance purchases",
    "summary": "List the deposits of the organisation, newest first",
    "description": "The newest 1000 payments and grants; `GET /v2/customer/ledger` lists all of them.",
    "params": [],
    "fields": [],
    "responseKind": "list",
    "json": [
      "amount",
      "amount_nano_usd",
      "timestamp",
      "source"
    ],
    "columns": [
      "amount",
      "amount_nano_usd",
      "timestamp",
      "source"
    ]
  },
  "getCatalog": {
    "name": "catalog get",
    "summary": "Read what can be rented and called now, without signing in",
    "description": "Offers, terms, models and machines of live mode at list prices. Responds with 404 if the operator has disabled it.",
    "params": [],
    "fields": [],
    "responseKind": "record",
    "json": [
      "asOf",
      "offers",
      "reserveOptions",
      "models",
      "marketplace"
    ],
    "columns": [
      "asOf"
    ]
  },
  "getOpenDocument": {
    "name": "document get",
    "summary": "Read one of the OpenAPI documents without a key",
    "description": "Responds with 404 unless the operator has enabled it.",
    "params": [
      {
        "key": "file",
        "describe": "file"
      }
    ],
    "fields": [],
    "responseKind": "record",
    "json": [],
    "columns": []
  },
  "getOpenapi": {
    "name": "document openapi",
    "summary": "Read the OpenAPI document of v2",
    "params": [],
    "fields": [],
    "responseKind": "record",
    "json": [],
    "columns": []
  },
  "generateImage": {
    "name": "image generate",
    "summary": "Generate images",
    "params": [],
    "fields": [
      {
        "key": "model_name",
        "flag": "model-name",
        "type": "text",
        "describe": "the model",
        "required": true
      },
      {
        "key": "prompt",
        "flag": "prompt",
        "type": "text",
        "describe": "the prompt",
        "required": true
      },
      {
        "key": "height",
        "flag": "height",
        "type": "integer",
        "describe": "the height in pixels",
        "required": true
      },
      {
        "key": "width",
        "flag": "width",
        "type": "integer",
        "describe": "the width in pixels",
        "required": true
      },
      {
        "key": "backend",
        "flag": "backend",
        "type": "text",
        "describe": "the image engine; auto chooses one"
      },
      {
        "key": "negative_prompt",
        "flag": "negative-prompt",
        "type": "text",
        "describe": "what the image must not show"
      },
      {
        "key": "prompt_2",
        "flag": "prompt-2",
        "type": "text",
        "describe": "the prompt of the second encoder"
      },
      {
        "key": "negative_prompt_2",
        "flag": "negative-prompt-2",
        "type": "text",
        "describe": "the negative prompt of the second encoder"
      },
      {
        "key": "style_preset",
        "flag": "style-preset",
        "type": "text",
        "describe": "the style"
      },
      {
        "key": "image",
        "flag": "image",
        "type": "text",
        "describe": "base64"
      },
      {
        "key": "controlnet_name",
        "flag": "controlnet-name",
        "type": "text",
        "describe": "the ControlNet"
      },
      {
        "key": "controlnet_image",
        "flag": "controlnet-image",
        "type": "text",
        "describe": "base64"
      },
      {
        "key": "seed",
        "flag": "seed",
        "type": "integer",
        "describe": "the same seed gives the same result"
      },
      {
        "key": "strength",
        "flag": "strength",
        "type": "number",
        "describe": "how far to depart from the input image, 0 to 1"
      },
      {
        "key": "cfg_scale",
        "flag": "cfg-scale",
        "type": "number",
        "describe": "how closely to follow the prompt, 0 to 50"
      },
      {
        "key": "steps",
        "flag": "steps",
        "type": "integer",
        "describe": "the number of steps"
      },
      {
        "key": "sampler",
        "flag": "sampler",
        "type": "text",
        "describe": "the sampler"
      },
      {
        "key": "enable_refiner",
        "flag": "enable-refiner",
        "type": "boolean",
        "describe": "refine the image at the end"
      },
      {
        "key": "lora",
        "flag": "lora",
        "type": "json",
        "describe": "LoRA weights, each with its strength"
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "images",
      "inference_time"
    ],
    "columns": [
      "inference_time"
    ]
  },
  "getInstallation": {
    "name": "installation get",
    "summary": "Read the sign-in options of this installation",
    "params": [],
    "fields": [],
    "responseKind": "record",
    "json": [
      "name",
      "publicUrl",
      "inferenceUrl",
      "signUp",
      "mail",
      "passkeys",
      "oidc",
      "demo",
      "topUp",
      "supplierTerms",
      "version"
    ],
    "columns": [
      "name",
      "publicUrl",
      "inferenceUrl",
      "signUp",
      "mail",
      "passkeys",
      "demo"
    ]
  },
  "cancelInvitation": {
    "name": "invitation cancel",
    "summary": "Withdraw an invitation",
    "params": [
      {
        "key": "organisationId",
        "describe": "the id of an organisation"
      },
      {
        "key": "invitationId",
        "describe": "the id of an invitation"
      }
    ],
    "fields": [],
    "responseKind": "nothing",
    "json": [],
    "columns": [],
    "confirms": true
  },
  "inviteMember": {
    "name": "invitation create",
    "summary": "Invite a person to the organisation",
    "description": "Open for seven days. Inviting the same email address again renews the invitation with the new role. The role must not have more rights than the inviter. If the installation sends no email, the response has a link, shown only once: give it to the person.",
    "params": [
      {
        "key": "organisationId",
        "describe": "the id of an organisation"
      }
    ],
    "fields": [
      {
        "key": "email",
        "flag": "email",
        "type": "text",
        "describe": "the email address",
        "required": true
      },
      {
        "key": "role",
        "flag": "role",
        "type": "text",
        "describe": "the role",
        "choices": [
          "owner",
          "admin",
          "member",
          "billing",
          "viewer"
        ],
        "required": true
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "id",
      "organisationId",
      "email",
      "role",
      "status",
      "invitedBy",
      "createdAt",
      "expiresAt",
      "link"
    ],
    "columns": [
      "id",
      "status",
      "organisationId",
      "email",
      "role",
      "createdAt",
      "expiresAt"
    ]
  },
  "listInvitations": {
    "name": "invitation list",
    "summary": "List open invitations",
    "params": [
      {
        "key": "organisationId",
        "describe": "the id of an organisation"
      }
    ],
    "fields": [],
    "responseKind": "list",
    "json": [
      "id",
      "organisationId",
      "email",
      "role",
      "status",
      "invitedBy",
      "createdAt",
      "expiresAt"
    ],
    "columns": [
      "id",
      "status",
      "organisationId",
      "email",
      "role",
      "createdAt",
      "expiresAt"
    ]
  },
  "listMarketplaceInstancesByPost": {
    "name": "market instance by-post",
    "summary": "List marketplace instances",
    "params": [],
    "fields": [],
    "responseKind": "list",
    "json": [
      "id",
      "start",
      "end",
      "created",
      "sshCommand",
      "portMappings",
      "instance"
    ],
    "columns": [
      "id",
      "start",
      "end",
      "created",
      "sshCommand"
    ],
    "hidden": true
  },
  "getMarketplaceInstance": {
    "name": "market instance get",
    "summary": "Read one marketplace instance with its steps and cost",
    "description": "Also after it has ended.",
    "params": [
      {
        "key": "name",
        "describe": "its name, or its number in the ledger and on invoices"
      }
    ],
    "fields": [],
    "responseKind": "record",
    "json": [
      "name",
      "number",
      "status",
      "statusReason",
      "statusSince",
      "createdAt",
      "startedAt",
      "endedAt",
      "nodeName",
      "clusterName",
      "region",
      "supplierId",
      "gpuModel",
      "gpuVerification",
      "gpuCount",
      "costPerHourNanoUsd",
      "liveCostPerHourNanoUsd",
      "costSoFarNanoUsd",
      "billingPausedAt",
      "sshCommand",
      "ports",
      "image",
      "tags",
      "expiresAt",
      "maxUsd",
      "steps"
    ],
    "optional": [
      "liveCostPerHourNanoUsd"
    ],
    "columns": [
      "name",
      "status",
      "number",
      "statusReason",
      "statusSince",
      "createdAt",
      "startedAt"
    ]
  },
  "getOrganisation": {
    "name": "org get",
    "summary": "Read an organisation",
    "params": [
      {
        "key": "organisationId",
        "describe": "the id of an organisation"
      }
    ],
    "fields": [],
    "responseKind": "record",
    "json": [
      "id",
      "name",
      "slug",
      "status",
      "createdAt",
      "updatedAt"
    ],
    "columns": [
      "id",
      "name",
      "status",
      "slug",
      "createdAt",
      "updatedAt"
    ]
  },
  "listOrganisations": {
    "name": "org list",
    "summary": "List the organisations of the caller",
    "params": [],
    "fields": [],
    "responseKind": "list",
    "json": [
      "id",
      "name",
      "slug",
      "status",
      "createdAt",
      "updatedAt"
    ],
    "columns": [
      "id",
      "name",
      "status",
      "slug",
      "createdAt",
      "updatedAt"
    ]
  },
  "updateOrganisation": {
    "name": "org update",
    "summary": "Change an organisation",
    "params": [
      {
        "key": "organisationId",
        "describe": "the id of an organisation"
      }
    ],
    "fields": [
      {
        "key": "name",
        "flag": "name",
        "type": "text",
        "describe": "the name"
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "id",
      "name",
      "slug",
      "status",
      "createdAt",
      "updatedAt"
    ],
    "columns": [
      "id",
      "name",
      "status",
      "slug",
      "createdAt",
      "updatedAt"
    ]
  },
  "generateAudio": {
    "name": "speech generate",
    "summary": "Generate speech",
    "params": [],
    "fields": [
      {
        "key": "text",
        "flag": "text",
        "type": "text",
        "describe": "the text to convert",
        "required": true
      },
      {
        "key": "language",
        "flag": "language",
        "type": "text",
        "describe": "the language"
      },
      {
        "key": "speaker",
        "flag": "speaker",
        "type": "text",
        "describe": "the voice"
      },
      {
        "key": "speed",
        "flag": "speed",
        "type": "number",
        "describe": "the speed of the speech"
      },
      {
        "key": "sdp_ratio",
        "flag": "sdp-ratio",
        "type": "number",
        "describe": "the liveliness of the speech"
      },
      {
        "key": "noise_scale",
        "flag": "noise-scale",
        "type": "number",
        "describe": "the variation of the voice"
      },
      {
        "key": "noise_scale_w",
        "flag": "noise-scale-w",
        "type": "number",
        "describe": "the variation of the rhythm"
      },
      {
        "key": "model",
        "flag": "model",
        "type": "text",
        "describe": "the model"
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "audio",
      "inference_time",
      "sample_rate",
      "usage"
    ],
    "columns": [
      "audio",
      "inference_time",
      "sample_rate",
      "usage"
    ]
  },
  "supplierGetAccount": {
    "name": "supplier account",
    "summary": "Read the status of the application or account",
    "params": [],
    "fields": [],
    "responseKind": "record",
    "json": [
      "id",
      "organisationId",
      "name",
      "about",
      "status",
      "statusReason",
      "feePercentage",
      "appliedAt",
      "approvedAt"
    ],
    "columns": [
      "id",
      "name",
      "status",
      "organisationId",
      "about",
      "statusReason",
      "feePercentage"
    ]
  },
  "supplierApply": {
    "name": "supplier apply",
    "summary": "Apply to be a supplier",
    "params": [],
    "fields": [
      {
        "key": "name",
        "flag": "name",
        "type": "text",
        "describe": "the name",
        "required": true
      },
      {
        "key": "about",
        "flag": "about",
        "type": "text",
        "describe": "a short description"
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "id",
      "organisationId",
      "name",
      "about",
      "status",
      "statusReason",
      "feePercentage",
      "appliedAt",
      "approvedAt"
    ],
    "columns": [
      "id",
      "name",
      "status",
      "organisationId",
      "about",
      "statusReason",
      "feePercentage"
    ]
  },
  "supplierGetEarnings": {
    "name": "supplier earnings",
    "summary": "Read the earnings of your machines",
    "description": "Default: since the start of the month (UTC). A period is at most 366 days.",
    "params": [],
    "fields": [
      {
        "key": "from",
        "flag": "from",
        "type": "moment",
        "describe": "from this time"
      },
      {
        "key": "until",
        "flag": "until",
        "type": "moment",
        "describe": "before this time"
      }
    ],
    "responseKind": "record",
    "json": [
      "accruedNanoUsd",
      "payableNanoUsd",
      "maturingNanoUsd",
      "requestedNanoUsd",
      "paidOutNanoUsd",
      "from",
      "until",
      "earnedNanoUsd",
      "machines",
      "days"
    ],
    "columns": [
      "accruedNanoUsd",
      "payableNanoUsd",
      "maturingNanoUsd",
      "requestedNanoUsd",
      "paidOutNanoUsd",
      "from",
      "until"
    ]
  },
  "supplierGetEnrolment": {
    "name": "supplier enrolment get",
    "summary": "Read an enrolment",
    "params": [
      {
        "key": "enrolmentId",
        "describe": "the id of an enrolment"
      }
    ],
    "fields": [],
    "responseKind": "record",
    "json": [
      "id",
      "name",
      "endpoint",
      "clusterName",
      "region",
      "stage",
      "problem",
      "steps",
      "machineId",
      "tests",
      "joinedAt",
      "deadlineAt",
      "enrolledAt"
    ],
    "columns": [
      "id",
      "name",
      "endpoint",
      "clusterName",
      "region",
      "stage",
      "problem"
    ]
  },
  "supplierListEnrolments": {
    "name": "supplier enrolment list",
    "summary": "List enrolments, newest first",
    "params": [],
    "fields": [],
    "responseKind": "list",
    "json": [
      "id",
      "name",
      "endpoint",
      "clusterName",
      "region",
      "stage",
      "problem",
      "steps",
      "machineId",
      "tests",
      "joinedAt",
      "deadlineAt",
      "enrolledAt"
    ],
    "columns": [
      "id",
      "name",
      "endpoint",
      "clusterName",
      "region",
      "stage",
      "problem"
    ]
  },
  "supplierCreateJoinToken": {
    "name": "supplier join-token create",
    "summary": "Create a join token for machines",
    "params": [],
    "fields": [
      {
        "key": "clusterName",
        "flag": "cluster-name",
        "type": "text",
        "describe": "the cluster name that the marketplace shows for machines that join with this token",
        "required": true
      },
      {
        "key": "region",
        "flag": "region",
        "type": "text",
        "describe": "the region of the machines: one that the operator has opened",
        "required": true
      },
      {
        "key": "description",
        "flag": "description",
        "type": "text",
        "describe": "a description"
      },
      {
        "key": "maxMachines",
        "flag": "max-machines",
        "type": "integer",
        "describe": "the maximum number of machines that can join with it"
      },
      {
        "key": "ttlSeconds",
        "flag": "ttl-seconds",
        "type": "integer",
        "describe": "the validity in seconds"
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "id",
      "description",
      "clusterName",
      "region",
      "maxMachines",
      "usedMachines",
      "expiresAt",
      "revokedAt",
      "createdAt",
      "token"
    ],
    "columns": [
      "id",
      "description",
      "clusterName",
      "region",
      "maxMachines",
      "usedMachines",
      "expiresAt"
    ]
  },
  "supplierListJoinTokens": {
    "name": "supplier join-token list",
    "summary": "List join tokens, without their secrets",
    "params": [],
    "fields": [],
    "responseKind": "list",
    "json": [
      "id",
      "description",
      "clusterName",
      "region",
      "maxMachines",
      "usedMachines",
      "expiresAt",
      "revokedAt",
      "createdAt"
    ],
    "columns": [
      "id",
      "description",
      "clusterName",
      "region",
      "maxMachines",
      "usedMachines",
      "expiresAt"
    ]
  },
  "supplierRevokeJoinToken": {
    "name": "supplier join-token revoke",
    "summary": "Revoke a join token; machines that joined with it stay",
    "params": [
      {
        "key": "joinTokenId",
        "describe": "the id of a join token"
      }
    ],
    "fields": [],
    "responseKind": "nothing",
    "json": [],
    "columns": [],
    "confirms": true
  },
  "supplierDrainMachine": {
    "name": "supplier machine drain",
    "summary": "Drain a machine: it accepts no new rentals",
    "params": [
      {
        "key": "machineId",
        "describe": "the id of a node"
      }
    ],
    "fields": [],
    "responseKind": "record",
    "json": [
      "id",
      "name",
      "supplierId",
      "clusterName",
      "region",
      "status",
      "statusReason",
      "approval",
      "approvalReason",
      "listed",
      "shown",
      "notShownBecause",
      "pricePerGpuHourNanoUsd",
      "gpus",
      "gpusRented",
      "drainedAt",
      "joinedAt",
      "lastSeenAt",
      "reliability"
    ],
    "columns": [
      "id",
      "name",
      "status",
      "supplierId",
      "clusterName",
      "region",
      "statusReason"
    ]
  },
  "supplierGetMachine": {
    "name": "supplier machine get",
    "summary": "Read a machine",
    "params": [
      {
        "key": "machineId",
        "describe": "the id of a node"
      }
    ],
    "fields": [],
    "responseKind": "record",
    "json": [
      "id",
      "name",
      "supplierId",
      "clusterName",
      "region",
      "status",
      "statusReason",
      "approval",
      "approvalReason",
      "listed",
      "shown",
      "notShownBecause",
      "pricePerGpuHourNanoUsd",
      "gpus",
      "gpusRented",
      "drainedAt",
      "joinedAt",
      "lastSeenAt",
      "reliability"
    ],
    "columns": [
      "id",
      "name",
      "status",
      "supplierId",
      "clusterName",
      "region",
      "statusReason"
    ]
  },
  "supplierGetMachineHistory": {
    "name": "supplier machine history",
    "summary": "List the transitions and faults of a machine",
    "description": "The newest 100, newest first.",
    "params": [
      {
        "key": "machineId",
        "describe": "the id of a node"
      }
    ],
    "fields": [],
    "responseKind": "list",
    "json": [
      "at",
      "kind",
      "status",
      "reason"
    ],
    "columns": [
      "status",
      "at",
      "kind",
      "reason"
    ]
  },
  "supplierResumeMachine": {
    "name": "supplier machine resume",
    "summary": "Return a machine to service that its supplier drained",
    "params": [
      {
        "key": "machineId",
        "describe": "the id of a node"
      }
    ],
    "fields": [],
    "responseKind": "record",
    "json": [
      "id",
      "name",
      "supplierId",
      "clusterName",
      "region",
      "status",
      "statusReason",
      "approval",
      "approvalReason",
      "listed",
      "shown",
      "notShownBecause",
      "pricePerGpuHourNanoUsd",
      "gpus",
      "gpusRented",
      "drainedAt",
      "joinedAt",
      "lastSeenAt",
      "reliability"
    ],
    "columns": [
      "id",
      "name",
      "status",
      "supplierId",
      "clusterName",
      "region",
      "statusReason"
    ]
  },
  "supplierUpdateMachine": {
    "name": "supplier machine update",
    "summary": "Price, list or unlist a machine",
    "description": "Existing rentals keep their frozen price.",
    "params": [
      {
        "key": "machineId",
        "describe": "the id of a node"
      }
    ],
    "fields": [
      {
        "key": "listed",
        "flag": "listed",
        "type": "boolean",
        "describe": "offer it on the marketplace"
      },
      {
        "key": "pricePerGpuHourNanoUsd",
        "flag": "price-per-gpu-hour-usd",
        "type": "usd",
        "describe": "the price per GPU and hour"
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "id",
      "name",
      "supplierId",
      "clusterName",
      "region",
      "status",
      "statusReason",
      "approval",
      "approvalReason",
      "listed",
      "shown",
      "notShownBecause",
      "pricePerGpuHourNanoUsd",
      "gpus",
      "gpusRented",
      "drainedAt",
      "joinedAt",
      "lastSeenAt",
      "reliability"
    ],
    "columns": [
      "id",
      "name",
      "status",
      "supplierId",
      "clusterName",
      "region",
      "statusReason"
    ]
  },
  "supplierWithdrawMachine": {
    "name": "supplier machine withdraw",
    "summary": "Withdraw an empty machine",
    "params": [
      {
        "key": "machineId",
        "describe": "the id of a node"
      }
    ],
    "fields": [],
    "responseKind": "nothing",
    "json": [],
    "columns": [],
    "confirms": true
  },
  "supplierListPayouts": {
    "name": "supplier payout list",
    "summary": "List payouts, newest first",
    "params": [],
    "fields": [],
    "responseKind": "list",
    "json": [
      "id",
      "amountNanoUsd",
      "status",
      "requestedAt",
      "settledAt",
      "reference",
      "reason"
    ],
    "columns": [
      "id",
      "status",
      "amountNanoUsd",
      "requestedAt",
      "settledAt",
      "reference",
      "reason"
    ]
  },
  "supplierRequestPayout": {
    "name": "supplier payout request",
    "summary": "Request a payout",
    "description": "The amount is reserved until the operator has paid or rejected it. A request above the payable amount is refused with 409.",
    "params": [],
    "fields": [
      {
        "key": "amountNanoUsd",
        "flag": "amount-usd",
        "type": "usd",
        "describe": "the amount",
        "required": true
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "id",
      "amountNanoUsd",
      "status",
      "requestedAt",
      "settledAt",
      "reference",
      "reason"
    ],
    "columns": [
      "id",
      "status",
      "amountNanoUsd",
      "requestedAt",
      "settledAt",
      "reference",
      "reason"
    ],
    "confirms": true
  },
  "supplierGetStatement": {
    "name": "supplier statement get",
    "summary": "Read a statement with its lines",
    "description": "The amounts posted in a month (UTC), by machine. Its last minutes may be in the next statement.",
    "params": [
      {
        "key": "statementId",
        "describe": "the id of a statement"
      }
    ],
    "fields": [],
    "responseKind": "record",
    "json": [
      "id",
      "periodStart",
      "periodEnd",
      "grossNanoUsd",
      "feeNanoUsd",
      "netNanoUsd",
      "lines"
    ],
    "columns": [
      "id",
      "periodStart",
      "periodEnd",
      "grossNanoUsd",
      "feeNanoUsd",
      "netNanoUsd"
    ]
  },
  "supplierListStatements": {
    "name": "supplier statement list",
    "summary": "List statements, newest first",
    "params": [],
    "fields": [],
    "responseKind": "list",
    "json": [
      "id",
      "periodStart",
      "periodEnd",
      "grossNanoUsd",
      "feeNanoUsd",
      "netNanoUsd"
    ],
    "columns": [
      "id",
      "periodStart",
      "periodEnd",
      "grossNanoUsd",
      "feeNanoUsd",
      "netNanoUsd"
    ]
  },
  "getRequestCost": {
    "name": "usage request-costs",
    "summary": "Read the cost of inference requests, in nano-USD",
    "description": "Ids come from the `X-Inference-Request-Id` header. Unknown ids, ids of other organisations and ids of running requests are omitted.",
    "params": [],
    "fields": [
      {
        "key": "requestIds",
        "flag": "request-ids",
        "type": "list",
        "describe": "the ids of requests",
        "required": true
      }
    ],
    "hasBody": true,
    "responseKind": "record",
    "json": [
      "requests"
    ],
    "columns": []
  }
};
