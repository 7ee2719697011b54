# What the documentation of both packages of R shows: vaults, files, datasets, queries, exports and the rest, by the functions that
# they have in common.

vault <- Vault.get_personal_vault()
folder <- paste0("/", basename(tempfile("r-")))

# A dataset in the folder, with records.
filled <- function(name, records) {
  dataset <- Dataset.get_or_create_by_full_path(paste0(vault$full_path, ":", folder, "/", name))
  imported(dataset, data_records = records)
  dataset
}

imported <- function(dataset, ...) {
  task <- DatasetImport.create(dataset_id = dataset$id, ...)
  while (DatasetImport.retrieve(task$id)$status %in% c("queued", "running")) Sys.sleep(0.1)
  expect_equal(DatasetImport.retrieve(task$id)$status, "completed")
}

variants <- list(
  list(gene = "BRCA2", variant = "v1", significance = "Pathogenic", n = 1),
  list(gene = "BRCA2", variant = "v2", significance = "Benign", n = 2),
  list(gene = "TP53", variant = "v3", significance = "Benign", n = 3)
)

test_that("login and user", {
  expect_equal(User.retrieve()$email, Sys.getenv("STRANDLAKE_EMAIL"))
})

test_that("vaults and folders", {
  name <- paste("Vault", basename(tempfile("")))
  made <- Vault.get_or_create_by_full_path(name)
  expect_equal(Vault.get_by_full_path(name, verbose = FALSE)$id, made$id)
  expect_equal(Vault.update(made$id, description = "changed")$description, "changed")
  expect_equal(Vault.retrieve(made$id)$description, "changed")
  expect_true(made$id %in% Vault.all()$data$id)
  inner <- Vault.create_folder(id = made$id, path = "/a/b", recursive = TRUE)
  expect_equal(inner$path, "/a/b")
  expect_equal(nrow(Vault.folders(made$id)), 2)
  expect_equal(nrow(Vault.search(made$id, query = "a/b")), 1)
  Vault.delete(made$id)
  expect_false(made$id %in% Vault.all()$data$id)
})

test_that("uploads, downloads and queries of files", {
  local <- tempfile(fileext = ".csv")
  writeLines(c("gene,n", "BRCA1,1", "TP53,2"), local)
  uploaded <- Object.upload_file(local, vault$id, folder, filename = "genes.csv")
  found <- Object.get_by_full_path(paste0(vault$full_path, ":", folder, "/genes.csv"))
  expect_equal(found$id, uploaded$id)
  expect_equal(readLines(url(Object.get_download_url(found$id))), readLines(local))
  expect_equal(Object.query(id = found$id)$gene, c("BRCA1", "TP53"))
  expect_equal(Object.query(id = found$id, filters = '[["n", 2]]')$gene, "TP53")
  expect_equal(Object.update(found$id, tags = list("x"))$tags[[1]], "x")
  Object.delete(found$id)
})

test_that("imports and queries", {
  dataset <- filled("variants", variants)
  query <- function(...) Dataset.query(dataset$id, ...)
  expect_equal(nrow(query()), 3)
  expect_equal(query(filters = '[["gene", "TP53"]]')$variant, "v3")
  expect_equal(query(filters = list(list("gene", "BRCA2"), list("significance", "Benign")))$variant, "v2")
  expect_equal(query(filters = list(list("n__gte", 2)), fields = list("variant"))$variant, c("v2", "v3"))
  expect_equal(nrow(query(limit = 2, paginate = TRUE)), 3)
  expect_equal(Dataset.count(dataset$id), 3)
  expect_true(all(c("gene", "variant") %in% Dataset.fields(dataset$id)$data$name))
  facets <- Dataset.facets(dataset$id, list("gene"))
  expect_setequal(unlist(facets$gene), c("BRCA2", "TP53", "2", "1"))
  expect_equal(nrow(DatasetImport.all(dataset_id = dataset$id)$data), 1)
  expect_equal(nrow(DatasetCommit.all(dataset_id = dataset$id)$data), 1)
})

test_that("fields", {
  dataset <- filled("fields", variants)
  field <- DatasetField.create(dataset$id, "note", data_type = "string", title = "A note")
  expect_equal(DatasetField.update(field$id, title = "changed")$title, "changed")
  expect_equal(DatasetField.retrieve(field$id)$title, "changed")
  gene <- Dataset.fields(dataset$id)$data
  counts <- DatasetField.facets(as.character(gene$id[gene$name == "gene"]))
  expect_true("BRCA2" %in% unlist(counts$facets))
})

test_that("migrations and exports", {
  source <- filled("source", variants)
  target <- filled("target", list())
  migration <- DatasetMigration.create(source$id, target$id, source_params = list(filters = list(list("gene", "BRCA2"))))
  while (DatasetMigration.retrieve(migration$id)$status %in% c("queued", "running")) Sys.sleep(0.1)
  expect_equal(Dataset.count(target$id), 2)
  export <- DatasetExport.create(source$id, format = "csv", params = list(limit = 2))
  while (DatasetExport.retrieve(export$id)$status %in% c("queued", "running")) Sys.sleep(0.1)
  rows <- read.csv(url(DatasetExport.get_download_url(export$id)))
  expect_equal(nrow(rows), 2)
})

test_that("templates, saved queries, beacons and applications", {
  dataset <- filled("others", variants)
  template <- DatasetTemplate.create(name = "A template", fields = list(list(name = "gene", entity_type = "gene", data_type = "string")))
  expect_equal(DatasetTemplate.update(template$id, description = "changed")$description, "changed")
  DatasetTemplate.delete(template$id)
  saved <- SavedQuery.create(name = "Genes", dataset = dataset$id, params = list(filters = list(list("gene", "TP53"))))
  expect_equal(SavedQuery.retrieve(saved$id)$name, "Genes")
  SavedQuery.delete(saved$id)
  fields <- Dataset.fields(dataset$id)$data
  DatasetField.update(fields$id[fields$name == "gene"], entity_type = "gene")
  set <- BeaconSet.create("A set", "made by a test")
  beacon <- Beacon.create(set$id, dataset$id, "A beacon")
  expect_equal(Beacon.query(beacon$id, query = "BRCA2", entity_type = "gene")$status, "found")
  expect_length(BeaconSet.query(set$id, query = "BRCA2", entity_type = "gene")$beacons$id, 1)
  Beacon.delete(beacon$id)
  BeaconSet.delete(set$id)
  expect_equal(Dataset.enable_global_beacon(dataset$id)$dataset_id, dataset$id)
  Dataset.disable_global_beacon(dataset$id)
  application <- Application.create("R", "http://127.0.0.1:3838")
  expect_equal(Application.retrieve(application$client_id)$name, "R")
  Application.delete(application$client_id)
})

test_that("expressions, annotation and search", {
  expect_equal(Expression.evaluate("1 + 1", data_type = "integer", raw = TRUE)$result, 2)
  fields <- list(list(name = "lower", expression = "record.gene.lower()", data_type = "string"))
  annotated <- Annotator.annotate(list(list(gene = "BRCA2")), fields)
  expect_equal(annotated$lower, "brca2")
  filled("searched", variants)
  expect_true("dataset" %in% GlobalSearch.search(query = "searched")$type)
  expect_gt(nrow(Task.all(limit = 5)$data), 0)
})
